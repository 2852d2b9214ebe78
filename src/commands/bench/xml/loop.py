"""Questions and answers."""

def told(span):
    """A span of the question as a program would hold it."""
    values = dict(span["values"])
    pair = lambda amount: amount and (int(amount["amount"].replace(".", "")), amount["currency"])
    values["rate"] = pair(values["rate"])
    values["occupancy_rates"] = [(each["guests"], pair(each["rate"]))
                                 for each in values["occupancy_rates"]]
    return {"start": date.fromisoformat(span["nights"]["arrival"]),
            "end": date.fromisoformat(span["nights"]["departure"]),
            "room": span["channel_room_code"], "rate": span["channel_rate_code"], "values": values}


def plain(value, name=None):
    """What was read, as JSON."""
    if isinstance(value, dict):
        return {key: plain(each, key) for key, each in value.items()}
    if isinstance(value, datetime):
        utc = value.astimezone(timezone.utc)
        micros = (utc - datetime(1970, 1, 1, tzinfo=timezone.utc)) // timedelta(microseconds=1)
        return micros if name == "order" else utc.strftime("%Y-%m-%dT%H:%M:%SZ")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, tuple) and isinstance(value[0], int):
        return {"amount": "%d.%02d" % divmod(value[0], 100), "currency": value[1]}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    return value


WORK = {
    "booking_com": {"render_ari": booking_render, "parse_ari": booking_read_ari,
                    "render_reservations": booking_thank, "read_thanks": booking_read_thanks,
                    "parse_reservations": booking_read_reservations},
    "alpinebits": {"render_ari": alpine_render, "parse_ari": alpine_read_ari,
                   "render_reservations": alpine_thank, "read_thanks": alpine_read_thanks,
                   "parse_reservations": alpine_read_reservations},
}


def load(question):
    work = WORK[question["dialect"]][question["work"]]
    given = question["given"]
    if question["work"] == "render_ari":
        given = {"hotel": given["hotel_code"], "spans": [told(span) for span in given["spans"]]}
    elif question["work"] != "render_reservations":
        given = [text.encode() for text in given]
    return work, given


def run(work, given, seconds):
    gc.collect()
    gc.disable()
    begun, used = time.perf_counter(), time.thread_time()
    repetitions = 0
    while time.perf_counter() - begun < seconds:
        work(given)
        repetitions += 1
    used = time.thread_time() - used
    gc.enable()
    return {"repetitions": repetitions, "seconds": used}


def main():
    work, given = None, None
    print(json.dumps({"lxml": etree.LXML_VERSION, "libxml2": etree.LIBXML_VERSION,
                      "python": sys.version.split()[0]}), flush=True)
    for line in sys.stdin:
        question = json.loads(line)
        if question["do"] == "load":
            work, given = load(question)
            made = work(given)
            answer = ([message.decode() for message in made] if isinstance(made[0], bytes)
                      else plain(made))
        else:
            answer = run(work, given, question["seconds"])
        print(json.dumps(answer), flush=True)


main()
