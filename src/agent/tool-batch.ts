/**
 * Runs the tools that one model answer asked for: together when the rule allows it, results in the order of the calls.
 */
import { createHash } from 'node:crypto'
import { messageOf } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import { within } from '../lib/wait.ts'
import type { ToolCall, ToolMessage } from '../message/transcript.ts'
import type { AgentWatcher, Journal } from './journal.ts'
import type { ToolSchema } from './provider.ts'
import type { ToolContext, ToolMode } from './tool.ts'
import { runBounded } from './tools/parallel.ts'

/** The tools of a run, as the loop needs them; the registry in `tools/` implements it. */
export interface ToolBox {
  /** Byte-stable: sorted by name. */
  schemas(): readonly ToolSchema[]
  /** Reads the arguments of a call. Never throws. */
  prepare(call: ToolCall): PreparedCall
  /** The rule of contract §4.2: whether these may run at the same time. */
  mayRunTogether(calls: readonly ToolCall[]): boolean
}

export type PreparedCall =
  | {
      readonly kind: 'ready'
      readonly mode: ToolMode
      readonly label: string
      run(context: ToolContext): Promise<string>
    }
  /** `error` tells the model what was expected and what was found. */
  | { readonly kind: 'invalid'; readonly error: string }

export interface ToolBatchDeps {
  readonly tools: ToolBox
  readonly journal: Journal
  readonly watcher: AgentWatcher
  readonly log: Logger
  contextFor(call: ToolCall): ToolContext
  /** The managed call around a tool. */
  manage(call: ToolCall, handler: () => Promise<string>): Promise<string>
  /** Named points for crash tests; does nothing in production. */
  probe(point: string): void
}

const maxParallel = 8

/** How long a tool may take to end once its signal has aborted; after that the turn ends without it. */
const letGoMs = 5_000

/**
 * Every call gets a result; only a fenced journal or an aborted signal makes this reject. It settles when nothing of it
 * runs any more, so that the next turn meets no tool of this one; only a tool that ignores its signal is left behind.
 */
export function runToolBatch(
  deps: ToolBatchDeps,
  calls: readonly ToolCall[],
  signal: AbortSignal,
): Promise<ToolMessage[]> {
  const width = deps.tools.mayRunTogether(calls) ? maxParallel : 1
  return runBounded(calls, width, async (call) => {
    signal.throwIfAborted()
    return { role: 'tool', toolCallId: call.id, name: call.name, content: await runTool(deps, call, signal) }
  })
}

async function runTool(deps: ToolBatchDeps, call: ToolCall, signal: AbortSignal): Promise<string> {
  const { journal, watcher, log, probe } = deps
  const prepared = deps.tools.prepare(call)
  if (prepared.kind === 'invalid') {
    const refusal = errorResult(prepared.error)
    await journal.toolEnded(call, refusal, 'done')
    watcher.toolEnded(call, false, prepared.error)
    return refusal
  }
  if ((await journal.toolStarted(call, prepared.mode)) === 'unknown') {
    const unknown = errorResult(interruptedText)
    await journal.toolEnded(call, unknown, 'interrupted')
    return unknown
  }
  probe('tool:started')
  watcher.toolStarted(call, prepared.label)
  const work = attempt(deps, call, () => prepared.run(deps.contextFor(call)))
  if (!(await endsInTime(work, signal))) {
    log.warn({ tool: call.name }, 'a tool ignores that it was stopped; the turn ends without it')
    void keepLate(deps, call, work)
    throw signal.reason
  }
  const { result, ok } = await work
  probe('tool:effect-done')
  await journal.toolEnded(call, result, 'done')
  probe('tool:recorded')
  log.debug({ tool: call.name, ok }, 'tool ended')
  watcher.toolEnded(call, ok, summaryOf(result))
  return result
}

/** False when the signal aborted and the work did not end soon after. */
async function endsInTime(work: Promise<Attempted>, signal: AbortSignal): Promise<boolean> {
  const aborted = Promise.withResolvers<void>()
  const note = () => aborted.resolve()
  if (signal.aborted) note()
  else signal.addEventListener('abort', note, { once: true })
  await Promise.race([work, aborted.promise])
  signal.removeEventListener('abort', note)
  return !signal.aborted || (await within(work, letGoMs)).done
}

/** What it brings at last is evidence: the journal keeps it aside when the turn has ended. */
async function keepLate({ journal, log }: ToolBatchDeps, call: ToolCall, work: Promise<Attempted>): Promise<void> {
  try {
    await journal.toolEnded(call, (await work).result, 'done')
  } catch (error) {
    log.warn({ tool: call.name, error }, 'a tool ended after its turn')
  }
}

interface Attempted {
  readonly result: string
  readonly ok: boolean
}

/** Never rejects: what the tool throws becomes its result. */
async function attempt(deps: ToolBatchDeps, call: ToolCall, run: () => Promise<string>): Promise<Attempted> {
  try {
    const result = await deps.manage(call, run)
    return { result, ok: !result.startsWith('{"error"') }
  } catch (error) {
    deps.log.warn({ tool: call.name, error }, `a tool failed: ${messageOf(error)}`)
    return { result: errorResult(messageOf(error)), ok: false }
  }
}

const interruptedText =
  'Interrupted, outcome unknown: the gateway stopped while this ran, and it was not run again. Find out what it did before you repeat it.'

function errorResult(text: string): string {
  return JSON.stringify({ error: text.slice(0, 2_048).toWellFormed() })
}

function summaryOf(result: string): string {
  return result.length <= 200 ? result : `${result.slice(0, 200).toWellFormed()}…`
}

/** Recognises a repeated action; not a secret. */
export function hashOfCall(call: ToolCall): string {
  return createHash('sha256').update(`${call.name}\n${call.arguments}`).digest('hex')
}
