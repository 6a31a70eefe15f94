fn main(){
 use tradewind_reference::instances::*;
 use tradewind_sched::combine::best;
    let scale = Scale { time: 100_000, cost: 1_000_000_000 };
    let arg: usize = std::env::args().nth(1).unwrap().parse().unwrap();
 for class in Class::ALL { for &o in objectives(class) { let mut ts=vec![]; for seed in 1..=20 {
   let jobs = drawn(class, arg, 30, scale, seed); let b = bounds(&jobs,o);
   let t=std::time::Instant::now(); let r=best(&jobs,o,b); ts.push(t.elapsed().as_micros()); assert!(r.is_ok()); }
   ts.sort(); println!("{arg} {} {o:?} median {} us max {} us", class.name(), ts[10], ts[19]); }}
}
