"""The plain way with a channel's XML: lxml, elements and dictionaries, written as one writes it.

Reads one question a line on standard input, answers each with a line of JSON. `load` makes the work
ready and answers what it yields; `run` repeats it and answers how often, and in how many seconds.
It masks no cards and checks no bounds, which helps it.
"""

import gc
import json
import sys
import time
from datetime import date, datetime, timedelta, timezone

from lxml import etree

NS = "http://www.opentravel.org/OTA/2003/05"
Q = "{%s}" % NS
DAY = timedelta(days=1)
SPANS_PER_MESSAGE = 100


def root(name, **attributes):
    return etree.Element(Q + name, attributes, nsmap={None: NS})


def sub(parent, name, **attributes):
    return etree.SubElement(parent, Q + name, attributes)


def written(element):
    return etree.tostring(element, xml_declaration=True, encoding="UTF-8")


def money(element, name="AmountAfterTax"):
    if element is None:
        return None
    text, places = element.get(name), element.get("DecimalPlaces")
    if places is not None:
        return (int(text), element.get("CurrencyCode"))
    units, _, cents = text.partition(".")
    return (int(units) * 100 + int(cents.ljust(2, "0")), element.get("CurrencyCode"))


# Booking.com: availability and rates.


def booking_control(parent, span):
    control = sub(parent, "StatusApplicationControl", Start=span["start"].isoformat(),
                  End=(span["end"] - DAY).isoformat(), InvTypeCode=span["room"])
    if span["rate"] is not None:
        control.set("RatePlanCode", span["rate"])


def booking_status(parent, span, number):
    message = sub(parent, "AvailStatusMessage", LocatorID=str(number))
    booking_control(message, span)
    return message


def booking_lengths(message, arriving, lengths):
    outer = sub(message, "LengthsOfStay", **({"ArrivalDateBased": "true"} if arriving else {}))
    for kind, nights in lengths:
        sub(outer, "LengthOfStay", Time=str(nights), TimeUnit="Day", MinMaxMessageType=kind)


def booking_statuses(parent, index, span):
    first = index * 8 + 1
    values = span["values"]
    rules = values["restrictions"]
    state = lambda is_closed: "Close" if is_closed else "Open"
    if span["rate"] is None:
        closed = values["closed"] or values["rooms"] <= 0
        sub(booking_status(parent, span, first), "RestrictionStatus", Status=state(closed))
        limit = booking_status(parent, span, first + 1)
        limit.set("BookingLimit", "0" if closed else str(min(values["rooms"], 254)))
        limit.set("BookingLimitMessageType", "SetLimit")
        return
    closed = values["closed"] or rules["stop_sell"]
    sub(booking_status(parent, span, first), "RestrictionStatus", Status=state(closed))
    for offset, name, field in ((1, "Arrival", "closed_to_arrival"),
                                (2, "Departure", "closed_to_departure")):
        sub(booking_status(parent, span, first + offset), "RestrictionStatus", Restriction=name,
            Status=state(rules[field]))
    booking_lengths(booking_status(parent, span, first + 3), False,
                    (("SetMinLOS", rules["min_stay_through"] or 1),))
    booking_lengths(booking_status(parent, span, first + 4), True,
                    (("SetMinLOS", rules["min_stay_arrival"] or 1),
                     ("SetMaxLOS", rules["max_stay"] or 0)))


def booking_rates(parent, index, span):
    message = sub(parent, "RateAmountMessage", LocatorID=str(index * 8 + 1))
    booking_control(message, span)
    amounts = sub(sub(sub(message, "Rates"), "Rate"), "BaseByGuestAmts")
    minor, currency = span["values"]["rate"]
    sub(amounts, "BaseByGuestAmt", AmountAfterTax=str(minor), CurrencyCode=currency,
        DecimalPlaces="2")
    for guests, (minor, currency) in span["values"]["occupancy_rates"]:
        sub(amounts, "BaseByGuestAmt", NumberOfGuests=str(guests), AmountAfterTax=str(minor),
            CurrencyCode=currency, DecimalPlaces="2")


def booking_render(push):
    messages = []
    spans = list(enumerate(push["spans"]))
    for at in range(0, len(spans), SPANS_PER_MESSAGE):
        message = root("OTA_HotelAvailNotifRQ", Version="1.0")
        outer = sub(message, "AvailStatusMessages", HotelCode=push["hotel"])
        for index, span in spans[at:at + SPANS_PER_MESSAGE]:
            booking_statuses(outer, index, span)
        messages.append(written(message))
    for at in range(0, len(spans), SPANS_PER_MESSAGE):
        rates = [pair for pair in spans[at:at + SPANS_PER_MESSAGE] if pair[1]["values"]["rate"]]
        if rates:
            message = root("OTA_HotelRateAmountNotifRQ", Version="1.0")
            outer = sub(message, "RateAmountMessages", HotelCode=push["hotel"])
            for index, span in rates:
                booking_rates(outer, index, span)
            messages.append(written(message))
    return messages


def span_of(spans, start, end, room, rate):
    key = (start, end, room, rate)
    span = spans.get(key)
    if span is None:
        nights = {"arrival": date.fromisoformat(start), "departure": date.fromisoformat(end) + DAY}
        values = {"rooms": None, "closed": False, "rate": None, "occupancy_rates": [],
                  "restrictions": {
                      "min_stay_arrival": None, "min_stay_through": None, "max_stay": None,
                      "closed_to_arrival": False, "closed_to_departure": False,
                      "min_advance_days": None, "max_advance_days": None, "stop_sell": False}}
        span = spans[key] = {"nights": nights, "channel_room_code": room,
                             "channel_rate_code": rate, "values": values}
    return span["values"]


def booking_read_status(message, spans):
    control = message.find(Q + "StatusApplicationControl")
    start, end = control.get("Start"), control.get("End")
    room, rate = control.get("InvTypeCode"), control.get("RatePlanCode")
    limit = message.get("BookingLimit")
    if limit is not None:
        span_of(spans, start, end, room, None)["rooms"] = int(limit)
    values = span_of(spans, start, end, room, rate)
    status = message.find(Q + "RestrictionStatus")
    if status is not None:
        closed = status.get("Status") == "Close"
        kind = status.get("Restriction")
        if kind is None:
            values["closed"] = closed
        elif kind == "Arrival":
            values["restrictions"]["closed_to_arrival"] = closed
        else:
            values["restrictions"]["closed_to_departure"] = closed
    lengths = message.find(Q + "LengthsOfStay")
    if lengths is not None:
        minimum = ("min_stay_arrival" if lengths.get("ArrivalDateBased") == "true"
                   else "min_stay_through")
        for length in lengths:
            nights = int(length.get("Time"))
            if length.get("MinMaxMessageType") == "SetMinLOS":
                values["restrictions"][minimum] = nights if nights > 1 else None
            else:
                values["restrictions"]["max_stay"] = nights if nights > 0 else None


def booking_read_rates(message, spans):
    control = message.find(Q + "StatusApplicationControl")
    values = span_of(spans, control.get("Start"), control.get("End"), control.get("InvTypeCode"),
                     control.get("RatePlanCode"))
    for amount in message.iterfind("%sRates/%sRate/%sBaseByGuestAmts/%sBaseByGuestAmt" % (Q, Q, Q, Q)):
        guests = amount.get("NumberOfGuests")
        if guests is None:
            values["rate"] = money(amount)
        else:
            values["occupancy_rates"].append({"guests": int(guests), "rate": money(amount)})


def booking_read_ari(messages):
    read = []
    for text in messages:
        message = etree.fromstring(text)
        outer = message[0]
        spans = {}
        each = (booking_read_status if message.tag == Q + "OTA_HotelAvailNotifRQ"
                else booking_read_rates)
        for element in outer:
            each(element, spans)
        read.append({"hotel_code": outer.get("HotelCode"), "complete": False,
                     "spans": list(spans.values())})
    return read


# AlpineBits: free rooms.


def alpine_render(push):
    message = root("OTA_HotelInvCountNotifRQ", Version="4")
    outer = sub(message, "Inventories", HotelCode=push["hotel"])
    for span in push["spans"]:
        values = span["values"]
        inventory = sub(outer, "Inventory")
        sub(inventory, "StatusApplicationControl", Start=span["start"].isoformat(),
            End=(span["end"] - DAY).isoformat(), InvTypeCode=span["room"])
        rooms = 0 if values["closed"] else max(values["rooms"], 0)
        sub(sub(inventory, "InvCounts"), "InvCount", CountType="2", Count=str(rooms))
    return [written(message)]


def alpine_read_ari(messages):
    read = []
    for text in messages:
        outer = etree.fromstring(text).find(Q + "Inventories")
        spans = {}
        for inventory in outer:
            control = inventory.find(Q + "StatusApplicationControl")
            values = span_of(spans, control.get("Start"), control.get("End"),
                             control.get("InvTypeCode"), None)
            for count in inventory.iterfind("%sInvCounts/%sInvCount" % (Q, Q)):
                if count.get("CountType") == "2":
                    values["rooms"] = int(count.get("Count"))
        read.append({"hotel_code": outer.get("HotelCode"), "complete": False,
                     "spans": list(spans.values())})
    return read
