import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createCounter, createGauge, createHistogram, renderMetrics } from '../../../src/flows/metrics/exposition.ts'

test('counters and gauges are rendered in the text format of Prometheus', () => {
  const calls = createCounter({ name: 'calls_total', help: 'Calls.\nA \\ too.', labels: ['tool'] })
  calls.add({ tool: 'terminal' })
  calls.add({ tool: 'terminal' }, 2)
  calls.add({ tool: 'a "quoted" \\ name\n' })
  const level = createGauge({ name: 'level', help: 'A level.' }, () => [{ labels: {}, value: 0.5 }])
  assert.equal(
    renderMetrics([calls, level]),
    [
      '# HELP calls_total Calls.\\nA \\\\ too.',
      '# TYPE calls_total counter',
      'calls_total{tool="terminal"} 3',
      'calls_total{tool="a \\"quoted\\" \\\\ name\\n"} 1',
      '# HELP level A level.',
      '# TYPE level gauge',
      'level 0.5',
      '',
    ].join('\n'),
  )
})

test('the buckets of a histogram count all values up to their bound', () => {
  const seconds = createHistogram({ name: 'seconds', help: 'Seconds.', labels: ['platform'] }, [0.1, 1])
  for (const value of [0.05, 0.1, 0.7, 30]) seconds.observe({ platform: 'web' }, value)
  assert.deepEqual(renderMetrics([seconds]).trim().split('\n').slice(2), [
    'seconds_bucket{platform="web",le="0.1"} 2',
    'seconds_bucket{platform="web",le="1"} 3',
    'seconds_bucket{platform="web",le="+Inf"} 4',
    'seconds_sum{platform="web"} 30.85',
    'seconds_count{platform="web"} 4',
  ])
})

test('a metric has a bounded number of series, and the others are counted together', () => {
  const calls = createCounter({ name: 'calls_total', help: 'Calls.', labels: ['tool', 'result'] })
  for (let index = 0; index < 1_000; index += 1) calls.add({ tool: `mcp_${index}`, result: 'ok' })
  const lines = renderMetrics([calls]).trim().split('\n').slice(2)
  assert.equal(lines.length, 201)
  assert.equal(lines.at(-1), 'calls_total{tool="other",result="other"} 800')
})
