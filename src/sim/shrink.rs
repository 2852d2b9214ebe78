//! Makes a failing script short by leaving steps out.

use crate::step::Scripted;

/// The shortest script found that still fails: ever smaller pieces are left out as long as that
/// succeeds. `fails` runs a script from the beginning; it is asked at most `tries` times.
pub fn shrink(
    script: &[Scripted],
    tries: usize,
    mut fails: impl FnMut(&[Scripted]) -> bool,
) -> Vec<Scripted> {
    let mut script = script.to_vec();
    let mut piece = script.len().div_ceil(2).max(1);
    let mut left = tries;
    loop {
        let mut from = 0;
        let mut shorter = false;
        while from < script.len() && left > 0 {
            let end = (from + piece).min(script.len());
            let mut without = script[..from].to_vec();
            without.extend_from_slice(&script[end..]);
            left -= 1;
            if fails(&without) {
                script = without;
                shorter = true;
            } else {
                from = end;
            }
        }
        if left == 0 || piece == 1 && !shorter {
            return script;
        }
        if !shorter {
            piece = piece.div_ceil(2);
        }
    }
}

/// A script as text that [`read`] reads back: one step a line.
pub fn print(script: &[Scripted]) -> String {
    let line = |step: &Scripted| {
        serde_json::to_string(step).expect("a step is made of numbers, names and lists")
    };
    script.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// A script from text.
pub fn read(text: &str) -> Result<Vec<Scripted>, serde_json::Error> {
    text.lines()
        .filter(|line| !line.trim().is_empty())
        .map(serde_json::from_str)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::Step;

    #[test]
    fn of_a_long_script_the_two_steps_that_fail_together_are_left() {
        let script: Vec<Scripted> = (0..300)
            .map(|number| Scripted {
                number,
                step: Step::Wait { minutes: 1 },
            })
            .collect();
        let has = |script: &[Scripted], number| script.iter().any(|step| step.number == number);
        let short = shrink(&script, 1_000, |script| has(script, 17) && has(script, 250));
        let numbers: Vec<usize> = short.iter().map(|step| step.number).collect();
        assert_eq!(numbers, [17, 250]);
        assert_eq!(read(&print(&short)).expect("a script"), short);
    }
}
