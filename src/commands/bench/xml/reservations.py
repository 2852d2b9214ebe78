"""Reservations of both channels, and the thanks for them."""

def path(*names):
    return "/".join(Q + name for name in names)


CUSTOMER = path("Profiles", "ProfileInfo", "Profile", "Customer")
BOOKED = path("ResGuests", "ResGuest", "Profiles", "ProfileInfo", "Profile", "Customer")
TYPE = path("RoomTypes", "RoomType")
MEALS = path("RoomTypes", "RoomType", "RoomDescription", "MealPlan")
RATES = path("RoomRates", "RoomRate")
TOTAL = path("Rates", "Rate", "Total")
NIGHTS = path("RoomRates", "RoomRate", "Rates", "Rate")
COMMISSION = path("RatePlans", "RatePlan", "Commission", "CommissionPayableAmount")
COUNTS = path("GuestCounts", "GuestCount")
REQUESTS = path("SpecialRequests", "SpecialRequest", "Text")
COMMENTS = path("Comments", "Comment", "Text")
SLEEPER = path("ResGuestRPHs", "ResGuestRPH")
IDS = path("ResGlobalInfo", "HotelReservationIDs", "HotelReservationID")


def guest(customer):
    name = customer.find(Q + "PersonName")
    parts = (name.findtext(Q + "GivenName"), name.findtext(Q + "Surname"))
    read = {"name": " ".join(part for part in parts if part)}
    phone = customer.find(Q + "Telephone")
    for field, value in (("email", customer.findtext(Q + "Email")),
                         ("phone", phone.get("PhoneNumber") if phone is not None else None),
                         ("language", customer.get("Language"))):
        if value:
            read[field] = value
    return read


def counts(stay):
    adults, ages = 0, []
    for count in stay.iterfind(COUNTS):
        number, age = int(count.get("Count")), count.get("Age")
        if count.get("AgeQualifyingCode") == "10" or (
                count.get("AgeQualifyingCode") is None and age is None):
            adults += number
        else:
            ages.extend([int(age) if age else None] * number)
    return adults, ages


def added(total, more):
    if total is None or more is None:
        return total or more
    return (total[0] + more[0], total[1])


def booking_room(stay, sleepers):
    nightly, rate_code = [], None
    for rate in stay.iterfind(RATES):
        rate_code = rate_code or rate.get("RatePlanCode")
        nightly.append((date.fromisoformat(rate.get("EffectiveDate")), money(rate.find(TOTAL))))
    nightly.sort(key=lambda pair: pair[0])
    adults, ages = counts(stay)
    sleeper = stay.find(SLEEPER)
    return {"room_key": stay.get("IndexNumber"), "room_code": stay.find(TYPE).get("RoomTypeCode"),
            "rate_code": rate_code, "arrival": nightly[0][0], "departure": nightly[-1][0] + DAY,
            "quantity": 1, "nightly": nightly, "total": money(stay.find(Q + "Total")),
            "adults": adults, "children_ages": ages,
            "guest_name": sleepers.get(sleeper.get("RPH")) if sleeper is not None else None}


def booking_reservation(element):
    info = element.find(Q + "ResGlobalInfo")
    sleepers = {each.get("ResGuestRPH"): guest(each.find(CUSTOMER))["name"]
                for each in element.iterfind(path("ResGuests", "ResGuest"))}
    rooms, remarks, commission, hotel = [], [], None, None
    for stay in element.iterfind(path("RoomStays", "RoomStay")):
        rooms.append(booking_room(stay, sleepers))
        hotel = stay.find(Q + "BasicPropertyInfo").get("HotelCode")
        found = stay.find(COMMISSION)
        commission = added(commission, money(found, "Amount"))
        remarks.extend(text.text for text in stay.iterfind(REQUESTS))
        remarks.extend("Meals: " + meals.text for meals in stay.iterfind(MEALS))
    remarks.extend(text.text for text in info.iterfind(COMMENTS))
    created = datetime.fromisoformat(element.get("CreateDateTime"))
    return {"hotel_code": hotel, "reference": element.find(IDS).get("ResID_Value"), "kind": "new",
            "order": created, "booked_at": created, "rooms": rooms,
            "guest": guest(info.find(CUSTOMER)), "total": money(info.find(Q + "Total")),
            "commission": commission, "payment_model": None,
            "remarks": list(dict.fromkeys(remarks)), "is_quote": False, "acknowledge_as": "new"}


def booking_read_reservations(messages):
    outer = [etree.fromstring(text)[0] for text in messages]
    return [[booking_reservation(element) for element in each] for each in outer]


def alpine_room(stay):
    plan = stay.find(path("RatePlans", "RatePlan"))
    span = stay.find(Q + "TimeSpan")
    nightly = []
    for rate in stay.iterfind(NIGHTS):
        night = date.fromisoformat(rate.get("EffectiveDate"))
        last = date.fromisoformat(rate.get("ExpireDate"))
        price = money(rate.find(Q + "Base"))
        while night <= last:
            nightly.append((night, price))
            night += DAY
    nightly.sort(key=lambda pair: pair[0])
    adults, ages = counts(stay)
    return {"room_key": None, "room_code": stay.find(TYPE).get("RoomTypeCode"),
            "rate_code": plan.get("RatePlanCode"), "arrival": date.fromisoformat(span.get("Start")),
            "departure": date.fromisoformat(span.get("End")), "quantity": 1, "nightly": nightly,
            "total": money(stay.find(Q + "Total")), "adults": adults, "children_ages": ages,
            "guest_name": None}


def alpine_reservation(element):
    unique, info = element.find(Q + "UniqueID"), element.find(Q + "ResGlobalInfo")
    rooms, commission, total = [], None, None
    for stay in element.iterfind(path("RoomStays", "RoomStay")):
        room = alpine_room(stay)
        rooms.append(room)
        total = added(total, room["total"])
        commission = added(commission, money(stay.find(COMMISSION), "Amount"))
    created = datetime.fromisoformat(element.get("CreateDateTime"))
    return {"hotel_code": info.find(Q + "BasicPropertyInfo").get("HotelCode"),
            "reference": unique.get("ID"), "kind": "new", "order": created, "booked_at": created,
            "rooms": rooms, "guest": guest(element.find(BOOKED)), "total": total,
            "commission": commission, "payment_model": None,
            "remarks": [text.text for text in info.iterfind(COMMENTS)], "is_quote": False,
            "acknowledge_as": unique.get("Type")}


def alpine_read_reservations(messages):
    read = []
    for text in messages:
        listed = etree.fromstring(text).find(Q + "ReservationsList")
        requests = [alpine_reservation(element) for element in listed]
        requests.sort(key=lambda request: request["order"])
        read.append(requests)
    return read


# Acknowledgements.


def booking_thank(receipts):
    message = root("OTA_HotelResNotifRS", Version="2.001")
    sub(message, "Success")
    info = sub(sub(sub(message, "HotelReservations"), "HotelReservation"), "ResGlobalInfo")
    ids = sub(info, "HotelReservationIDs")
    for reference, _ in receipts:
        sub(ids, "HotelReservationID", ResID_Value=reference, ResID_Source="PMS", ResID_Type="14")
    return [written(message)]


def booking_read_thanks(messages):
    return [[[each.get("ResID_Value"), "new"] for each in etree.fromstring(text).iter(
        Q + "HotelReservationID")] for text in messages]


def alpine_thank(receipts):
    message = root("OTA_NotifReportRQ", Version="1.000")
    sub(message, "Success")
    outer = sub(sub(sub(message, "NotifDetails"), "HotelNotifReport"), "HotelReservations")
    for reference, kind in receipts:
        sub(sub(outer, "HotelReservation"), "UniqueID", Type=kind, ID=reference)
    return [written(message)]


def alpine_read_thanks(messages):
    return [[[each.get("ID"), each.get("Type")] for each in etree.fromstring(text).iter(
        Q + "UniqueID")] for text in messages]
