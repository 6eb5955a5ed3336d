/**
 * Hooks that run a program (contract §2.7): it receives the event as JSON on stdin and prints its decision as JSON on stdout.
 * The program is started without a shell.
 */
import { isRecord, parseJson } from '../lib/json.ts'
import type { CommandHook } from './config.ts'
import { type HandlerResult, handlerFailure, type RunHook } from './handler-result.ts'
import { createHookPayload, matchesPattern } from './payload.ts'
import { type ProgramResult, runProgram } from './run-program.ts'
import { splitShellWords } from './shell-words.ts'

/** The exit code with which a program denies. */
const denyExitCode = 2
const maxReasonChars = 400

/** @param blockedReason why the program must not run; '' if it may run */
export function createCommandHook(
  hook: CommandHook,
  cwd: string,
  environment: () => Readonly<Record<string, string>>,
  blockedReason: () => string,
): RunHook {
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

/** The decision for an event when the program cannot be run; `undefined` if the hook does not fail closed. */
export function fallbackDecision(hook: CommandHook, context: unknown): unknown {
  return hook.fail_closed && matchesPattern(hook.matcher, context)
    ? denyDecision('A hook that must allow this command cannot be run.')
    : undefined
}

/** The failure is reported, but the hook stays enabled: the next call is decided by itself. */
function applyFailClosed({ fail_closed }: CommandHook, wantsResult: boolean, result: HandlerResult): HandlerResult {
  if (!wantsResult || result.ok || !fail_closed) return result
  return { ...result, kind: 'failed', countsAgainstHook: false, decision: denyDecision(result.message) }
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
  if (code !== 0) return handlerFailure(`The program exited with code ${code}: ${lastLine(stderr)}`)
  if (output === '') return noDecision
  if (decision === undefined)
    return handlerFailure(`The program printed output that is not JSON: ${output.slice(0, 80)}`)
  return { ok: true, value: isBlockDecision(decision) ? denyDecision(reasonOf(decision)) : decision }
}

/** The form of a decision that handlers return. */
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
  const parsed = parseJson(text)
  return isRecord(parsed) ? parsed : undefined
}

function lastLine(text: string): string {
  return (text.trim().split('\n').at(-1) ?? '').slice(0, maxReasonChars).toWellFormed()
}
