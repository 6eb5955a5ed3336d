/**
 * The cost of a command in the sandbox compared with the same command without it.
 */
import { createVictim } from '../../agent/sandbox/victim.ts'
import type { BenchOptions, Figure, Row } from '../figure.ts'

const barMs = 45

async function measureSandbox({ full }: BenchOptions): Promise<Row[]> {
  await using victim = await createVictim()
  const { kind, reason } = victim.sandbox
  if (kind === 'none') return [{ name: 'sandboxed command', unit: 'ms', bar: barMs, note: reason }]
  const samples = { plain: [] as number[], sandboxed: [] as number[] }
  // Alternating, so that the load of the machine affects both.
  for (let round = 0; round < (full ? 200 : 40); round++) {
    for (const way of ['plain', 'sandboxed'] as const) {
      const start = performance.now()
      await victim.run('true', way === 'plain' ? { outsideSandbox: true } : {})
      samples[way].push(performance.now() - start)
    }
  }
  const [plain, sandboxed] = [median(samples.plain), median(samples.sandboxed)]
  return [
    { name: 'plain command, p50', measured: plain, unit: 'ms' },
    {
      name: `what the sandbox (${kind}) adds to a command, p50`,
      measured: sandboxed - plain,
      unit: 'ms',
      bar: barMs,
      baseline: { what: 'plain command', value: plain },
    },
  ]
}

const median = (values: readonly number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0

export const sandbox: Figure = {
  name: 'sandbox',
  about: 'a sandboxed command against a plain one',
  measure: measureSandbox,
}
