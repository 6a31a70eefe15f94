use super::*;

/// What 8.1.9 said: a job over two hosts, one that waits, one of an array, and a disabled queue.
const STATUS: &str = "<?xml version='1.0'?>
<job_info  xmlns:xsd=\"http://arc.liv.ac.uk/repos/darcs/sge/source/dist/util/resources/schemas/qstat/qstat.xsd\">
  <queue_info>
    <Queue-List>
      <name>main.q@ge1</name>
      <qtype>BIP</qtype>
      <slots_used>3</slots_used>
      <slots_resv>0</slots_resv>
      <slots_total>8</slots_total>
      <load_avg>4.04492</load_avg>
      <arch>lx-amd64</arch>
      <job_list state=\"running\">
        <JB_job_number>1</JB_job_number>
        <JAT_prio>0.75000</JAT_prio>
        <JB_name>a&amp;b%lt;c&gt;&quot;d</JB_name>
        <JB_owner>nobody</JB_owner>
        <state>r</state>
        <JAT_start_time>2026-11-21T23:47:07</JAT_start_time>
        <slots>3</slots>
        <full_job_name>a&amp;b%lt;c&gt;&quot;d</full_job_name>
        <requested_pe name=\"units\">3</requested_pe>
        <granted_pe name=\"units\">3</granted_pe>
        <hard_request name=\"h_rt\" resource_contribution=\"0.000000\">60</hard_request>
        <hard_req_queue>main.q</hard_req_queue>
        <binding>NONE</binding>
      </job_list>
    </Queue-List>
    <Queue-List>
      <name>main.q@ge2.domain</name>
      <slots_used>2</slots_used>
      <slots_total>4</slots_total>
      <state>dE</state>
      <job_list state=\"running\">
        <JB_job_number>1</JB_job_number>
        <JB_name>a</JB_name>
        <JB_owner>nobody</JB_owner>
        <state>r</state>
        <JAT_start_time>1795304827</JAT_start_time>
        <slots>2</slots>
      </job_list>
    </Queue-List>
  </queue_info>
  <job_info>
    <job_list state=\"pending\">
      <JB_job_number>6</JB_job_number>
      <JAT_prio>0.50500</JAT_prio>
      <JB_name>arr</JB_name>
      <JB_owner>ana</JB_owner>
      <state>hqw</state>
      <JB_submission_time>2026-11-21T23:47:07</JB_submission_time>
      <slots>1</slots>
      <tasks>3-11:2</tasks>
      <predecessor_jobs>1</predecessor_jobs>
    </job_list>
  </job_info>
</job_info>
";

#[test]
fn a_status_has_queues_and_jobs() {
    let status = Status::read(STATUS).unwrap();
    let shown = |one: &Instance| format!("{} {}/{} {:?}", one.name, one.used, one.slots, one.state);
    let shown: Vec<String> = status.instances.iter().map(shown).collect();
    assert_eq!(shown, ["main.q@ge1 3/8 \"\"", "main.q@ge2.domain 2/4 \"dE\""]);
    assert_eq!((status.instances[1].queue(), status.instances[1].host()), ("main.q", "ge2.domain"));
    let [one, two] = &status.jobs[..] else { panic!("{:?}", status.jobs) };
    let places = [("main.q@ge1".to_owned(), 3), ("main.q@ge2.domain".to_owned(), 2)];
    assert_eq!(one.places, BTreeMap::from(places));
    assert_eq!((one.since, one.limit), (Some(Time(1_795_304_827)), Some(Span(60))));
    // Grid Engine's own mistake with `<`.
    assert_eq!((one.name.as_str(), &one.queues[..]), ("a&b%lt;c>\"d", &["main.q".to_owned()][..]));
    assert_eq!((two.id.as_str(), two.owner.as_str()), ("6.3-11:2", "ana"));
    assert_eq!((two.slots, two.priority, two.tasks.as_str()), (1, Some(50_500), "3-11:2"));
    assert_eq!((two.submitted, &two.after[..]), (one.since, &["1".to_owned()][..]));
    assert!(!two.is_placed());
}

/// An answer that was cut off anywhere is a failure, never a smaller cluster.
#[test]
fn output_that_is_cut_off_is_no_answer() {
    let whole = STATUS.trim_end();
    for end in 0..whole.len() {
        assert!(Status::read(&whole[..end]).is_err(), "{}", &whole[..end]);
    }
    for other in ["<job_info/>", "<qrstat/>", "error: commlib error", "{}"] {
        assert!(Status::read(other).is_err(), "{other}");
    }
    let odd = STATUS.replace("<slots_total>8</slots_total>", "<slots_total>many</slots_total>");
    assert!(Status::read(&odd).unwrap_err().contains("\"many\", no number"));
}

#[test]
fn reservations_have_times_and_places() {
    let text = "<?xml version='1.0'?>
<qrstat xmlns:xsd=\"http://x\">
   <ar_summary>
      <id>1</id>
      <name>tw-m-23.0</name>
      <owner>ana</owner>
      <state>w</state>
      <start_time>2026-11-21T23:38:48</start_time>
      <end_time>2026-11-21T23:39:18</end_time>
      <duration>00:00:30</duration>
      <granted_slots_list>
         <granted_slots  queue_instance=\"main.q@ge1\" slots=\"4\"/>
      </granted_slots_list>
   </ar_summary>
   <ar_unknown>
      <id>99</id>
   </ar_unknown>
</qrstat>";
    let all = reservations(text).unwrap();
    let [one] = &all[..] else { panic!("{all:?}") };
    assert_eq!((one.id.as_str(), one.owner.as_str(), one.until - one.from), ("1", "ana", Span(30)));
    assert_eq!(one.places, BTreeMap::from([("main.q@ge1".to_owned(), 4)]));
    assert_eq!(reservations("<qrstat></qrstat>"), Ok(Vec::new()));
    assert!(reservations(&text[..300]).is_err());
}

#[test]
fn details_tell_reservation_reason_and_wishes() {
    let text = "<detailed_job_info><djob_info>
<element><JB_job_number>2</JB_job_number><JB_ar>0</JB_ar><JB_reserve>true</JB_reserve></element>
<element><JB_job_number>3</JB_job_number><JB_ar>7</JB_ar><JB_ja_tasks><ulong_sublist><JAT_message_list>
<ulong_sublist><QIM_type>1</QIM_type><QIM_message>11/21/2026 23:52:48 [65534:220]: error: can&apos;t open output file &quot;/nonono/x&quot;: No such file or directory</QIM_message>
</ulong_sublist></JAT_message_list></ulong_sublist></JB_ja_tasks></element>
</djob_info><messages/></detailed_job_info>";
    let details = Details::read(text).unwrap();
    assert_eq!(details.reservation, BTreeMap::from([("3".to_owned(), "7".to_owned())]));
    assert_eq!(details.asks, BTreeMap::from([("2".to_owned(), true)]));
    let why = "can't open output file \"/nonono/x\": No such file or directory";
    assert_eq!(details.reason, BTreeMap::from([("3".to_owned(), why.to_owned())]));
}

#[test]
fn the_last_record_of_a_job_counts() {
    let record = |end: &str, failed: &str, status: &str| {
        format!(
            "==============================================================\n\
             qname        main.q              \n\
             start_time   Sat Nov  7 03:36:47 2026\n\
             end_time     {end}\n\
             failed       {failed}\n\
             exit_status  {status}\n"
        )
    };
    let text = record("-/-", "28  : changing into working directory", "0")
        + &record(
            "Sat Nov  7 03:36:50 2026",
            "100 : assumedly after job",
            "137                  (Killed)",
        );
    let account = QacctRow::read(&text).unwrap();
    assert_eq!(account.since.map(|time| time.0), Some(1_794_022_607));
    let until = account.until.unwrap() - account.since.unwrap();
    assert_eq!((until, account.failed, account.status), (Span(3), 100, 137));
    assert_eq!(QacctRow::read("error: job name x not found\n"), None);
    let account = QacctRow::read(&record("-/-", "28  : x", "0")).unwrap();
    assert_eq!((account.until, account.failed), (None, 28));
}
