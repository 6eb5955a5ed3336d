/**
 * `hermes batch run`: sends the prompts of a file to the agent, each in a conversation of its own, and writes their answers.
 */

import { closeSync, existsSync, openSync, readSync, realpathSync } from 'node:fs'
import { resolve } from 'node:path'
import { findUnknownEntries, type SelectableTool } from '../agent/toolsets/select-tools.ts'
import { callRoute } from '../api/client.ts'
import type { Endpoint } from '../api/endpoint.ts'
import { listTools } from '../api/routes/extensions.ts'
import { askPrompt, createPatientFetch } from '../clients/batch/ask-prompt.ts'
import type { BatchOptions } from '../clients/batch/batch-options.ts'
import { type BatchState, openBatch, realPathOf } from '../clients/batch/batch-state.ts'
import { readEarlierResults } from '../clients/batch/earlier-results.ts'
import { type BatchProgress, openProgress } from '../clients/batch/progress.ts'
import { type BatchPrompt, type PromptFile, parsePrompts } from '../clients/batch/read-prompts.ts'
import { type BatchResult, maxFileBytes, openLineFile } from '../clients/batch/result-file.ts'
import { runPrompts } from '../clients/batch/run-prompts.ts'
import { summarize } from '../clients/batch/summary.ts'
import { openTrajectories } from '../clients/batch/trajectories.ts'
import { describeError } from '../lib/describe-error.ts'
import { HermesError, isHermesError, messageOf } from '../lib/errors.ts'
import { exitCodes } from '../lib/exit-codes.ts'
import { onAbort, sleep } from '../lib/timers.ts'
import { toSingleLine } from '../lib/visible-text.ts'
import { lockHome } from '../store/sqlite/lock.ts'
import type { CliContext } from './kit/context.ts'
import { createDisplay } from './kit/display.ts'
import { interceptSignals, openEndpoint } from './kit/endpoint.ts'
import { readSettings } from './kit/settings.ts'
import { assertToolsetsExist } from './shared/known-toolsets.ts'

/** Sets the exit code: 0, 1 when a prompt failed or a line is broken, 75 when the gateway went away, 130 when interrupted. */
export async function batchRun(context: CliContext, file: string, options: BatchOptions): Promise<void> {
  assertSeparateFiles(file, options)
  const promptFile = readPrompts(file, options)
  reportLines(context, file, promptFile, options)
  const prompts = promptFile.prompts.slice(0, options.limit)
  const signals = interceptSignals()
  const state = openBatch(resolve(options.out), lockHome)
  try {
    const earlier = readEarlierResults(context, state, { all: promptFile.prompts, chosen: prompts }, options)
    const endpoint = await openEndpoint(context, { platform: 'batch' })
    try {
      const plan = { prompts, earlier, broken: promptFile.broken.length }
      await runWith(context, { endpoint, state, options, plan, stop: signals.signal })
    } finally {
      await endpoint.close()
    }
  } finally {
    state.release()
    signals.remove()
  }
}

/** Throws `cli/usage`. */
function readPrompts(file: string, { system = '', toolsets }: BatchOptions): PromptFile {
  const path = resolve(file)
  let content: Buffer
  try {
    content = readAtMost(path, maxFileBytes + 1)
  } catch (error) {
    throw new HermesError('cli/usage', `${file} cannot be read: ${messageOf(error)}.`, { cause: error })
  }
  if (content.length > maxFileBytes) throw new HermesError('cli/usage', `${file} is larger than 1 GB. Divide it.`)
  return parsePrompts(content, path, { system, toolsets: toolsets === undefined ? undefined : splitNames(toolsets) })
}

/** Throws `cli/usage` where a file would be written in two forms, or written and read. */
function assertSeparateFiles(file: string, { out, trajectories }: BatchOptions): void {
  const results = realPathOf(out)
  const taken = new Map([
    [existsSync(file) ? realpathIfKnown(file) : resolve(file), 'the prompts'],
    [`${results}.state`, 'the state of the batch'],
    [`${results}.lock`, 'the lock of the batch'],
  ])
  for (const [option, path] of [['--out', out] as const, ['--trajectories', trajectories] as const]) {
    if (path === undefined) continue
    const real = realPathOf(path)
    const owner = taken.get(real)
    if (owner !== undefined) throw new HermesError('cli/usage', `${option} names ${path}, which has ${owner}.`)
    taken.set(real, 'the results')
  }
}

/** A pipe has a name without a path. */
function realpathIfKnown(file: string): string {
  try {
    return realpathSync(file)
  } catch {
    return resolve(file)
  }
}

/** The beginning of a file; the whole of a pipe that ends. */
function readAtMost(path: string, maxBytes: number): Buffer {
  const chunks: Buffer[] = []
  const file = openSync(path, 'r')
  try {
    for (let left = maxBytes; left > 0; ) {
      const chunk = Buffer.allocUnsafe(Math.min(left, 1_048_576))
      const bytes = readSync(file, chunk)
      if (bytes === 0) break
      chunks.push(chunk.subarray(0, bytes))
      left -= bytes
    }
  } finally {
    closeSync(file)
  }
  return Buffer.concat(chunks)
}

/** Throws `cli/usage`. */
function splitNames(text: string): readonly string[] {
  const names = text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
  if (names.length === 0) throw new HermesError('cli/usage', '--toolsets names no toolset.')
  return names
}

const maxReportedLines = 20

/** Throws `cli/usage` when nothing can be sent, and for a broken line with `--strict`. */
function reportLines(
  { errors }: CliContext,
  file: string,
  { prompts, broken, ignoredFields }: PromptFile,
  { strict }: BatchOptions,
): void {
  for (const { line, reason } of broken.slice(0, maxReportedLines))
    errors.write(`hermes: ${toSingleLine(`${file}:${line}: ${reason}`)}\n`)
  if (broken.length > maxReportedLines)
    errors.write(`hermes: ${broken.length - maxReportedLines} more lines are broken\n`)
  if (strict && broken.length > 0)
    throw new HermesError('cli/usage', `${broken.length} lines of ${file} are broken. Nothing was sent.`)
  if (prompts.length === 0) throw new HermesError('cli/usage', `${file} has no prompt that can be sent.`)
  if (ignoredFields.length > 0)
    errors.write(`hermes: these fields are ignored: ${toSingleLine(ignoredFields.join(', '))}\n`)
}

interface Plan {
  readonly prompts: readonly BatchPrompt[]
  readonly earlier: ReadonlyMap<string, BatchResult>
  /** The number of lines that cannot be used. */
  readonly broken: number
}

interface Work {
  readonly endpoint: Endpoint
  readonly state: BatchState
  readonly options: BatchOptions
  readonly plan: Plan
  readonly stop: AbortSignal
}

async function runWith(context: CliContext, { endpoint, state, options, plan: read, stop }: Work): Promise<void> {
  if (endpoint.model === 'demo')
    context.errors.write('hermes: no model is configured: the offline demonstration answers (config/no-model)\n')
  const { tools } = await callRoute(endpoint, listTools, {})
  const plan = await withKnownToolsets(context, read, tools, options)
  const { prompts, earlier } = plan
  const access = {
    ...{ url: endpoint.url, token: endpoint.token, batch: state.batch, clock: Date.now },
    fetch: createPatientFetch({ fetch, clock: Date.now, sleep }),
  }
  const results = await openLineFile(resolve(options.out))
  const trajectories = await openTrajectories(options.trajectories, access, state.batch, tools)
  const progress = openBatchProgress(context, plan)
  const removeStop = onAbort(stop, () =>
    progress.note('waiting for the prompts that were sent; Ctrl-C again leaves them to the next run'),
  )
  const byId = new Map(earlier)
  const startedAt = Date.now()
  try {
    const unsent = await runPrompts({
      prompts: prompts.filter(({ id }) => !earlier.has(id)),
      concurrency: options.concurrency,
      stop,
      async run(prompt, signal) {
        progress.started()
        const result = await askPrompt(access, prompt, state.attemptOf(prompt.id), signal)
        // First, because the line of the result is what makes a prompt count as answered.
        await trajectories.write(prompt, result, signal)
        await results.append(result)
        byId.set(prompt.id, result)
        progress.ended(result)
        if (result.error !== undefined) progress.note(`line ${prompt.line}: ${describeFailure(result.error)}`)
      },
    })
    // These trajectories are missing after a run without trajectories, or one that was killed between the two files.
    for (const prompt of prompts) {
      const result = earlier.get(prompt.id)
      if (result !== undefined && !stop.aborted) await trajectories.write(prompt, result, stop)
    }
    if (unsent > 0) context.exitCode = exitCodes.interrupted
    else if (plan.broken > 0 || [...byId.values()].some(({ status }) => status !== 'done'))
      context.exitCode = exitCodes.failed
  } catch (error) {
    progress.close()
    context.exitCode = reportEnd(context, error)
  } finally {
    removeStop()
    progress.close()
    await Promise.all([results.close(), trajectories.close()])
  }
  const outcome = { prompts: prompts.length, broken: plan.broken, results: byId, lost: trajectories.lost() }
  summarize(createDisplay(context.output, context.environment), options, { ...outcome, ms: Date.now() - startedAt })
}

/**
 * Lines with a toolset that does not exist are broken lines. Throws `cli/not-found` for `--toolsets`, and `cli/usage` with `--strict`
 * and when no line is left.
 */
async function withKnownToolsets(
  context: CliContext,
  plan: Plan,
  tools: readonly SelectableTool[],
  { toolsets, strict }: BatchOptions,
): Promise<Plan> {
  if (plan.prompts.every((prompt) => prompt.toolsets === undefined)) return plan
  const { config } = await readSettings(context)
  const custom = config.current().custom_toolsets
  if (toolsets !== undefined) assertToolsetsExist(splitNames(toolsets), tools, custom)
  const prompts: BatchPrompt[] = []
  for (const prompt of plan.prompts) {
    const [unknown] = findUnknownEntries(prompt.toolsets ?? [], tools, custom)
    if (unknown === undefined) prompts.push(prompt)
    else context.errors.write(`hermes: line ${prompt.line}: there is no toolset ${toSingleLine(unknown.name)}\n`)
  }
  const broken = plan.prompts.length - prompts.length
  if (broken > 0 && (strict || prompts.length === 0))
    throw new HermesError('cli/usage', `${broken} lines name a toolset that does not exist. Nothing was sent.`)
  return { ...plan, prompts, broken: plan.broken + broken }
}

function openBatchProgress({ errors }: CliContext, { prompts, earlier }: Plan): BatchProgress {
  const done = [...earlier.values()].filter(({ status }) => status === 'done').length
  return openProgress({
    ...{ errors, total: prompts.length, done, failed: earlier.size - done, clock: Date.now },
    every(ms, call) {
      const timer = setInterval(call, ms)
      return () => clearInterval(timer)
    },
  })
}

function describeFailure({ code, message }: NonNullable<BatchResult['error']>): string {
  return toSingleLine(`${message.includes(code) ? message : `${message} (${code})`}`).slice(0, 500)
}

/** What failed is the gateway or a file, not a prompt. Returns the exit code. */
function reportEnd({ errors }: CliContext, error: unknown): number {
  errors.write(`hermes: ${describeError(error)}\n`)
  errors.write('hermes: the batch has stopped; the same command continues it, and sends no answered prompt again\n')
  return isHermesError(error, 'cli/failed') ? exitCodes.failed : exitCodes.temporary
}
