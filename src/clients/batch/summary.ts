/**
 * The summary of a batch: a few lines for people, or JSON.
 */
import { resolve } from 'node:path'
import { formatDuration } from '../../lib/duration.ts'
import type { BatchOptions } from './batch-options.ts'
import type { BatchResult } from './result-file.ts'

export interface Outcome {
  /** How many there are. */
  readonly prompts: number
  /** The number of lines that cannot be used. */
  readonly broken: number
  readonly results: ReadonlyMap<string, BatchResult>
  readonly ms: number
  /** Trajectories whose conversations are not stored any more. */
  readonly lost: number
}

/** Where the summary is shown. */
export interface SummaryDisplay {
  json(value: unknown): void
  /** Names with their values. */
  fields(rows: readonly (readonly [name: string, value: string])[]): void
}

export function summarize(
  display: SummaryDisplay,
  { out, trajectories, json }: BatchOptions,
  { prompts, broken, results, ms, lost }: Outcome,
): void {
  const all = [...results.values()]
  const count = (status: BatchResult['status']) => all.filter((result) => result.status === status).length
  const sum = (read: (usage: BatchResult['usage']) => number) =>
    all.reduce((total, { usage }) => total + read(usage), 0)
  const summary = {
    prompts,
    done: count('done'),
    failed: count('failed'),
    stopped: count('stopped'),
    waiting: prompts - all.length,
    broken_lines: broken,
    usage: {
      input_tokens: sum(({ input_tokens: tokens }) => tokens),
      output_tokens: sum(({ output_tokens: tokens }) => tokens),
      cost: sum(({ cost = 0 }) => cost),
    },
    duration_ms: ms,
    results: resolve(out),
    ...(trajectories === undefined ? {} : { trajectories: resolve(trajectories), lost_trajectories: lost }),
  }
  if (json) {
    display.json(summary)
    return
  }
  const { input_tokens: input, output_tokens: output, cost } = summary.usage
  const failures = [
    [summary.failed, 'failed'],
    [summary.stopped, 'stopped'],
    [summary.waiting, 'not answered yet'],
  ] as const
  const other = failures.filter(([number]) => number > 0).map(([number, name]) => `, ${number} ${name}`)
  display.fields([
    ['Prompts', `${summary.done} of ${prompts} done${other.join('')}`],
    ...(broken === 0 ? [] : [['Broken lines', String(broken)] as const]),
    ['Tokens', `${input} in, ${output} out${cost === 0 ? '' : `, $${cost.toFixed(4)}`}`],
    ['Time', formatDuration(ms)],
    ['Results', summary.results],
    ...(trajectories === undefined ? [] : [['Trajectories', resolve(trajectories)] as const]),
    ...(lost === 0 ? [] : [['Without a trajectory', `${lost}, their conversations are not stored any more`] as const]),
  ])
}
