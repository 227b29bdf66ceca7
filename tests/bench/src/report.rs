//! The figures of all rounds as a table or as JSON.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::json;

use crate::measure::{Figure, median};
use crate::subject::Subject;

/// By transport and figure: what each round measured of each subject.
#[derive(Default)]
pub struct Report(BTreeMap<(&'static str, Figure), [Vec<f64>; 3]>);

/// Ours as a multiple of a floor, by the rounds: least, median, most.
type Ratio = [f64; 3];

impl Report {
    pub fn add(&mut self, over: &'static str, subject: Subject, figures: Vec<(Figure, f64)>) {
        for (figure, value) in figures {
            self.0.entry((over, figure)).or_default()[subject as usize].push(value);
        }
    }

    pub fn table(&self) -> String {
        let mut text = String::from(
            "| | floor | unity-mcp / floor | floor, one thread | unity-mcp / floor, one thread |\n|---|---:|---:|---:|---:|\n",
        );
        for ((over, figure), [floor, one_thread, ours]) in &self.0 {
            let cells = [floor, one_thread].map(|floor| {
                let (value, unit) = (median(floor.clone()), figure.unit());
                if *figure == Figure::Idle {
                    // The floor does nothing while it is idle, so there is no ratio.
                    return format!("{value:.1} {unit} | {:.1} {unit}", median(ours.clone()));
                }
                let [least, middle, most] = ratio(ours, floor);
                format!("{value:.1} {unit} | **{middle:.2}** ({least:.2} to {most:.2})")
            });
            writeln!(text, "| {over}, {} | {} | {} |", figure.name(), cells[0], cells[1]).unwrap();
        }
        text
    }

    pub fn json(&self) -> String {
        let row = |((over, figure), [floor, one_thread, ours]): (&(_, Figure), &[Vec<f64>; 3])| {
            json!({
                "transport": over,
                "figure": figure.name(),
                "unit": figure.unit(),
                "floor": floor,
                "floor_of_one_thread": one_thread,
                "unity_mcp": ours,
                "ratio": ratio(ours, floor),
                "ratio_to_one_thread": ratio(ours, one_thread),
            })
        };
        serde_json::to_string_pretty(&self.0.iter().map(row).collect::<Vec<_>>()).unwrap()
    }
}

/// Rounds are compared with each other: what disturbs one disturbs both.
fn ratio(ours: &[f64], floor: &[f64]) -> Ratio {
    let mut ratios: Vec<f64> = ours.iter().zip(floor).map(|(ours, floor)| ours / floor).collect();
    ratios.sort_by(f64::total_cmp);
    let at = |index: usize| ratios.get(index).copied().unwrap_or(f64::NAN);
    [at(0), median(ratios.clone()), at(ratios.len().saturating_sub(1))]
}
