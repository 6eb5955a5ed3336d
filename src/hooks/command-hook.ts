/**
 * A program that an event starts (contract §2.7): the event as JSON on its stdin, its decision as JSON on its stdout. No
 * shell is between.
 */
import type { CommandHook } from './config.ts'
import { type HandlerResult, handlerFailure, type RunHook } from './handler-result.ts'
import { createHookPayload, matchesPattern } from './payload.ts'
import { type ProgramResult, runProgram } from './run-program.ts'
import { splitShellWords } from './shell-words.ts'

export interface CommandHookDeps {
  readonly environment: () => Readonly<Record<string, string>>
  readonly cwd: string
  /** Why it may not run right now; '' where it may. */
  blockedReason(): string
}

/** Its exit code by which it says no. */
const denyExitCode = 2
const maxReasonChars = 400

export function createCommandHook(hook: CommandHook, { environment, cwd, blockedReason }: CommandHookDeps): RunHook {
  return async ({ event, context, wantsResult, deadlineMs }) => {
    const argv = splitShellWords(hook.command)
    if (argv === undefined || !matchesPattern(hook.matcher, context)) return noDecision
    const reason = blockedReason()
    if (reason !== '')
      return applyFailClosed(
        hook,
        wantsResult,
        handlerFailure(reason, { kind: 'unavailable', countsAgainstHook: false }),
      )
    const input = JSON.stringify(createHookPayload(event, context, cwd))
    const result = await runProgram({ argv, input, env: environment(), cwd, timeoutMs: deadlineMs })
    return applyFailClosed(hook, wantsResult, parseProgramResult(result))
  }
}

/** What it says of an event when it cannot be asked; undefined where that lets things pass. */
export function fallbackDecision(hook: CommandHook, context: unknown): unknown {
  return hook.fail_closed && matchesPattern(hook.matcher, context)
    ? denyDecision('A hook that must allow this cannot be asked.')
    : undefined
}

function applyFailClosed({ fail_closed }: CommandHook, wanted: boolean, outcome: HandlerResult): HandlerResult {
  return wanted && !outcome.ok && fail_closed ? { ok: true, value: denyDecision(outcome.message) } : outcome
}

const noDecision: HandlerResult = { ok: true, value: null }

function parseProgramResult({ code, stdout, stderr, failure }: ProgramResult): HandlerResult {
  if (failure !== '') return handlerFailure(`The program failed: ${failure}.`)
  const output = stdout.trim()
  const decision = parseJsonObject(output)
  if (code === denyExitCode) {
    const reason = decision === undefined ? stderr.trim().slice(0, maxReasonChars).toWellFormed() : reasonOf(decision)
    return { ok: true, value: denyDecision(reason) }
  }
  if (code !== 0) return handlerFailure(`The program ended with ${code}: ${lastLine(stderr)}`)
  if (output === '') return noDecision
  if (decision === undefined)
    return handlerFailure(`The program wrote something else than JSON: ${output.slice(0, 80)}`)
  return { ok: true, value: isBlockDecision(decision) ? denyDecision(reasonOf(decision)) : decision }
}

/** As a hook in a folder says it. */
function denyDecision(message: string): Readonly<Record<string, string>> {
  return { decision: 'deny', message }
}

type DecisionJson = Readonly<Record<string, unknown>>

function isBlockDecision({ decision, action }: DecisionJson): boolean {
  return decision === 'block' || action === 'block'
}

function reasonOf({ reason, message }: DecisionJson): string {
  return typeof reason === 'string' ? reason : typeof message === 'string' ? message : ''
}

function parseJsonObject(text: string): DecisionJson | undefined {
  try {
    const found: unknown = JSON.parse(text)
    return typeof found === 'object' && found !== null && !Array.isArray(found) ? { ...found } : undefined
  } catch {
    // Whoever asked says what was there instead.
    return undefined
  }
}

function lastLine(text: string): string {
  return (text.trim().split('\n').at(-1) ?? '').slice(0, maxReasonChars).toWellFormed()
}
