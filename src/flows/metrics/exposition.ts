/**
 * Metrics in the text format of Prometheus (version 0.0.4). The label values of a metric are bounded, because each combination is
 * a time series of its own.
 */

/** `{ platform: 'telegram' }`. The names are those of `MetricSpec.labels`. */
export type Labels = Readonly<Record<string, string>>

export interface MetricSpec {
  readonly name: string
  readonly help: string
  readonly labels?: readonly string[]
}

/** A metric with its samples. */
export interface Metric {
  readonly spec: MetricSpec
  readonly type: 'counter' | 'gauge' | 'histogram'
  samples(): Iterable<Sample>
}

interface Sample {
  /** `_bucket`, `_sum` and `_count` of a histogram. */
  readonly suffix?: string
  readonly labels: Labels
  readonly value: number
}

export interface Counter extends Metric {
  add(labels: Labels, amount?: number): void
}

export interface Histogram extends Metric {
  observe(labels: Labels, value: number): void
}

/** Combinations of labels for each metric. Further ones are counted with every label `other`. */
const maxSeries = 200

export function createCounter(spec: MetricSpec): Counter {
  const series = createSeries(spec, () => ({ value: 0 }))
  return {
    spec,
    type: 'counter',
    add(labels, amount = 1) {
      series.of(labels).value += amount
    },
    samples: () => series.all().map(([labels, { value }]) => ({ labels, value })),
  }
}

/** @param bounds the upper bounds of the buckets, ascending; the last bucket has none */
export function createHistogram(spec: MetricSpec, bounds: readonly number[]): Histogram {
  const series = createSeries(spec, () => ({ buckets: bounds.map(() => 0), sum: 0, count: 0 }))
  return {
    spec,
    type: 'histogram',
    observe(labels, value) {
      const into = series.of(labels)
      into.sum += value
      into.count += 1
      const bucket = bounds.findIndex((bound) => value <= bound)
      if (bucket !== -1) into.buckets[bucket] = (into.buckets[bucket] ?? 0) + 1
    },
    *samples() {
      for (const [labels, { buckets, sum, count }] of series.all()) {
        let below = 0
        for (const [index, bound] of bounds.entries()) {
          below += buckets[index] ?? 0
          yield { suffix: '_bucket', labels: { ...labels, le: String(bound) }, value: below }
        }
        yield { suffix: '_bucket', labels: { ...labels, le: '+Inf' }, value: count }
        yield { suffix: '_sum', labels, value: sum }
        yield { suffix: '_count', labels, value: count }
      }
    },
  }
}

/** A value that is read when it is asked for. */
export function createGauge(
  spec: MetricSpec,
  read: () => Iterable<{ readonly labels: Labels; readonly value: number }>,
): Metric {
  return { spec, type: 'gauge', samples: read }
}

/** A total that another part counts. */
export function createCounterView(
  spec: MetricSpec,
  read: () => Iterable<{ readonly labels: Labels; readonly value: number }>,
): Metric {
  return { spec, type: 'counter', samples: read }
}

function createSeries<Value>({ labels: names = [] }: MetricSpec, create: () => Value) {
  const byKey = new Map<string, [Labels, Value]>()
  const other = Object.fromEntries(names.map((name) => [name, 'other']))
  function of(labels: Labels): Value {
    const key = names.map((name) => labels[name]).join('\n')
    const existing = byKey.get(key)
    if (existing !== undefined) return existing[1]
    if (byKey.size >= maxSeries && labels !== other) return of(other)
    const value = create()
    byKey.set(key, [labels, value])
    return value
  }
  return { of, all: () => [...byKey.values()] }
}

/** The content type of `renderMetrics`. */
export const metricsContentType = 'text/plain; version=0.0.4; charset=utf-8'

export function renderMetrics(metrics: readonly Metric[]): string {
  return metrics.map(renderMetric).join('')
}

function renderMetric({ spec: { name, help }, type, samples }: Metric): string {
  const lines = [`# HELP ${name} ${help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')}`, `# TYPE ${name} ${type}`]
  for (const { suffix = '', labels, value } of samples()) lines.push(`${name}${suffix}${renderLabels(labels)} ${value}`)
  return `${lines.join('\n')}\n`
}

function renderLabels(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escapeLabel(value)}"`)
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}

function escapeLabel(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n').toWellFormed()
}
