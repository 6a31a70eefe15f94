//! Tables for pandas, polars, DuckDB and others, by Arrow's PyCapsule interface.

use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, Float64Builder, Int64Builder, StringBuilder};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{Array as _, ArrayRef, RecordBatch, RecordBatchIterator, StringArray};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use serde_json::Value;
use tradewind_campaign::rows::JobRows;
use tradewind_campaign::summary::{AXES, Summary};
use tradewind_io::batsim::{self, BatsimRow, FinalState, Life};
use tradewind_model::Energy;

use crate::replay::FinishedRun;

/// A table: rows of named columns, all in memory. Any library that reads Arrow takes it is:
/// `pandas.DataFrame.from_arrow(t)`, `polars.DataFrame(t)`, `pyarrow.table(t)`, DuckDB by its name.
#[pyclass(frozen, module = "tradewind._native")]
pub(crate) struct Table {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

#[pymethods]
impl Table {
    /// The table as a stream. A requested schema is a wish that need not be granted.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let batches: Vec<Result<RecordBatch, ArrowError>> =
            self.batches.iter().cloned().map(Ok).collect();
        let reader = RecordBatchIterator::new(batches, Arc::clone(&self.schema));
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    /// Names and types of the columns.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema =
            FFI_ArrowSchema::try_from(self.schema.as_ref()).map_err(|error| odd(&error))?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// Names of the columns, in order.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    /// Number of rows.
    #[getter]
    fn num_rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    fn __len__(&self) -> usize {
        self.num_rows()
    }

    fn __repr__(&self) -> String {
        format!("<tradewind.Table: {} rows, {}>", self.num_rows(), self.column_names().join(", "))
    }
}

/// A table that cannot be made, which does not happen: columns are made together.
fn odd(error: &ArrowError) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}

/// The jobs of one run.
#[derive(Clone)]
pub(crate) struct JobsTable(RecordBatch);

impl JobsTable {
    /// The columns of `jobs.csv` with the values that are there; what is empty there is null.
    pub(crate) fn of(logs: &[&str], rows: &JobRows<'_>) -> Result<JobsTable, ArrowError> {
        let mut columns = JobColumns::default();
        for row in (0..rows.count()).map(|at| rows.row(at)) {
            columns.push(logs, &row);
        }
        columns.finish(logs.len() > 1).map(JobsTable)
    }

    pub(crate) fn plain(&self) -> Table {
        Table { schema: self.0.schema(), batches: vec![self.0.clone()] }
    }

    /// The same with the run's axes as further columns.
    fn labelled(&self, summary: &Summary) -> Result<RecordBatch, ArrowError> {
        let mut fields: Vec<Arc<Field>> = self.0.schema().fields().to_vec();
        let mut columns = self.0.columns().to_vec();
        for key in AXES.iter().filter(|key| **key != "log") {
            let text = summary.cell(key);
            let text = Some(text.as_str()).filter(|text| !text.is_empty());
            let column = StringArray::from(vec![text; self.0.num_rows()]);
            fields.push(Arc::new(Field::new(*key, DataType::Utf8, true)));
            columns.push(Arc::new(column));
        }
        RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)
    }
}

/// The columns of `jobs.csv` but for the job's id, which is a number for one log and a text for
/// several.
#[derive(Default)]
struct JobColumns {
    numbers: Int64Builder,
    ids: StringBuilder,
    workloads: StringBuilder,
    submissions: Int64Builder,
    processors: Int64Builder,
    requested: Int64Builder,
    success: BooleanBuilder,
    states: StringBuilder,
    starts: Int64Builder,
    runs: Int64Builder,
    ends: Int64Builder,
    waits: Int64Builder,
    turnarounds: Int64Builder,
    stretches: Float64Builder,
    allocated: StringBuilder,
    energy: Float64Builder,
    metadata: StringBuilder,
}

impl JobColumns {
    fn push(&mut self, logs: &[&str], row: &BatsimRow) {
        let log = logs.get(row.log).copied().unwrap_or_default();
        self.numbers.append_value(row.number);
        if logs.len() > 1 {
            self.ids.append_value(format!("{log}!{}", row.number));
        }
        self.workloads.append_value(log);
        self.submissions.append_option(row.submit.map(|at| at.0));
        self.processors.append_value(i64::from(row.processors.unwrap_or_default()));
        self.requested.append_value(row.requested.map_or(-1, |span| span.0));
        self.metadata.append_null();
        match row.life.as_ref().zip(row.submit) {
            Some((life, submit)) => self.push_life(life, submit.0),
            None => self.push_rejected(),
        }
    }

    fn push_life(&mut self, life: &Life, submit: i64) {
        let (start, end) = (life.start.0, life.end.0);
        let ended = life.state == FinalState::Completed;
        self.success.append_value(ended);
        self.states.append_value(match life.state {
            FinalState::Completed => "COMPLETED_SUCCESSFULLY",
            FinalState::WalltimeReached => "COMPLETED_WALLTIME_REACHED",
        });
        self.starts.append_value(start);
        self.runs.append_value(end - start);
        self.ends.append_value(end);
        self.waits.append_value(start - submit);
        self.turnarounds.append_value(end - submit);
        let stretch = batsim::stretch_millionths(
            life.end - tradewind_model::Time(submit),
            life.end - life.start,
        );
        self.stretches.append_value(stretch as f64 / 1e6);
        self.allocated.append_value(ranges(&life.processors));
        self.energy.append_value(match life.energy {
            Some(Energy(millijoules)) => millijoules as f64 / 1e3,
            None => -1.0,
        });
    }

    fn push_rejected(&mut self) {
        self.success.append_value(false);
        self.states.append_value("REJECTED");
        for column in [
            &mut self.starts,
            &mut self.runs,
            &mut self.ends,
            &mut self.waits,
            &mut self.turnarounds,
        ] {
            column.append_null();
        }
        self.stretches.append_null();
        self.allocated.append_null();
        self.energy.append_null();
    }

    fn finish(&mut self, several_logs: bool) -> Result<RecordBatch, ArrowError> {
        let numbers = self.numbers.finish();
        let id: ArrayRef = match several_logs {
            true => Arc::new(self.ids.finish()),
            false => Arc::new(numbers.clone()),
        };
        let columns: Vec<ArrayRef> = vec![
            id,
            Arc::new(self.workloads.finish()),
            Arc::new(numbers),
            Arc::new(self.submissions.finish()),
            Arc::new(self.processors.finish()),
            Arc::new(self.requested.finish()),
            Arc::new(self.success.finish()),
            Arc::new(self.states.finish()),
            Arc::new(self.starts.finish()),
            Arc::new(self.runs.finish()),
            Arc::new(self.ends.finish()),
            Arc::new(self.waits.finish()),
            Arc::new(self.turnarounds.finish()),
            Arc::new(self.stretches.finish()),
            Arc::new(self.allocated.finish()),
            Arc::new(self.energy.finish()),
            Arc::new(self.metadata.finish()),
        ];
        batch(batsim::COLUMNS.split(','), columns)
    }
}

/// `0-3 8`: as `jobs.csv` has it.
fn ranges(processors: &[(u32, u32)]) -> String {
    let range = |&(first, last): &(u32, u32)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    processors.iter().map(range).collect::<Vec<_>>().join(" ")
}

fn batch<'a>(
    names: impl Iterator<Item = &'a str>,
    columns: Vec<ArrayRef>,
) -> Result<RecordBatch, ArrowError> {
    let field =
        |(name, column): (&str, &ArrayRef)| Field::new(name, column.data_type().clone(), true);
    let fields: Vec<Field> = names.zip(&columns).map(field).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)
}

/// The jobs of several runs, with each run's axes as columns.
#[pyfunction]
pub(crate) fn jobs_of(runs: Vec<PyRef<'_, FinishedRun>>) -> PyResult<Table> {
    if let [only] = runs.as_slice() {
        return Ok(only.jobs.plain());
    }
    let batches = runs.into_iter().map(|run| run.jobs.labelled(&run.summary));
    let batches: Vec<RecordBatch> =
        batches.collect::<Result<_, _>>().map_err(|error| odd(&error))?;
    let schema = batches.first().map_or_else(|| Arc::new(Schema::empty()), RecordBatch::schema);
    Ok(Table { schema, batches })
}

/// One row for each run: its axes, then all measures.
#[pyfunction]
pub(crate) fn summary_of(runs: Vec<PyRef<'_, FinishedRun>>) -> PyResult<Table> {
    let runs = runs.into_iter().map(|run| run.summary.clone()).collect::<Vec<_>>();
    let summaries: Vec<&Summary> = runs.iter().collect();
    let mut names: Vec<&str> = Vec::new();
    for key in summaries.iter().flat_map(|summary| summary.fields().keys()) {
        if !names.contains(&key.as_str()) {
            names.push(key);
        }
    }
    let columns: Vec<ArrayRef> = names.iter().map(|name| column(name, &summaries)).collect();
    let batch = batch(names.iter().copied(), columns).map_err(|error| odd(&error))?;
    Ok(Table { schema: batch.schema(), batches: vec![batch] })
}

/// Numbers as floats; texts as they are, objects as JSON.
fn column(name: &str, summaries: &[&Summary]) -> ArrayRef {
    let values: Vec<Option<&Value>> =
        summaries.iter().map(|it| it.fields().get(name).filter(|it| !it.is_null())).collect();
    let is_text = AXES.contains(&name) && !matches!(name, "load" | "seed")
        || values.iter().flatten().any(|it| !it.is_number());
    if is_text {
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        return Arc::new(StringArray::from_iter(values.iter().map(|it| it.map(text))));
    }
    let mut floats = Float64Builder::new();
    values.iter().for_each(|it| floats.append_option(it.and_then(Value::as_f64)));
    Arc::new(floats.finish())
}
