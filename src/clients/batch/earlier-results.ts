/**
 * The results of earlier runs of a batch: which of them count, and which prompts are asked again.
 */
import { resolve } from 'node:path'
import { HermesError } from '../../lib/errors.ts'
import type { Output } from '../../lib/terminal-streams.ts'
import { toSingleLine } from '../../lib/visible-text.ts'
import type { BatchOptions } from './batch-options.ts'
import type { BatchState } from './batch-state.ts'
import type { BatchPrompt } from './read-prompts.ts'
import { type BatchResult, readResults, replaceResults } from './result-file.ts'

/**
 * The results that count, by id. Throws `cli/usage` when a prompt has changed since its result.
 * @param prompts `chosen`: those that `--limit` leaves
 */
export function readEarlierResults(
  { errors }: { readonly errors: Output },
  state: BatchState,
  prompts: { readonly all: readonly BatchPrompt[]; readonly chosen: readonly BatchPrompt[] },
  { out, retryFailed, rerunChanged }: BatchOptions,
): ReadonlyMap<string, BatchResult> {
  const path = resolve(out)
  const stored = readResults(path)
  // A process that was killed while it began to try prompts again has left the results of the former attempt.
  const current = stored.filter(({ id, attempt }) => attempt === state.attemptOf(id))
  const byId = new Map(prompts.all.map((prompt) => [prompt.id, prompt]))
  const chosen = new Set(prompts.chosen.map(({ id }) => id))
  const changed = current.filter(({ id, hash }) => chosen.has(id) && byId.get(id)?.hash !== hash)
  if (changed.length > 0 && !rerunChanged) throw changedError(changed)
  const others = current.filter(({ id }) => !byId.has(id)).length
  if (others > 0) errors.write(`hermes: ${others} results belong to prompts that are not in the file (any more)\n`)
  const failed = retryFailed ? current.filter(({ id, status }) => status !== 'done' && chosen.has(id)) : []
  const again = new Set([...changed, ...failed].map(({ id }) => id))
  state.tryAgain([...again])
  const results = current.filter(({ id }) => !again.has(id))
  if (results.length < stored.length) replaceResults(path, results)
  return new Map(results.filter(({ id }) => chosen.has(id)).map((result) => [result.id, result]))
}

const maxNamed = 5

function changedError(changed: readonly BatchResult[]): HermesError {
  const names = changed.slice(0, maxNamed).map(({ id }) => id)
  const more = changed.length > maxNamed ? ' ...' : ''
  return new HermesError(
    'cli/usage',
    `${changed.length} prompts were changed since they were answered: ${toSingleLine(names.join(', '))}${more}.`,
    { hint: 'Add --rerun-changed to ask them again, or name another file with --out for a new batch.' },
  )
}
