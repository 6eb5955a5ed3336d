/**
 * A program that an event starts (contract §2.7): the event as JSON on its stdin, its decision as JSON on its stdout. No
 * shell is between.
 */
import type { CommandHook } from './config.ts'
import { failed, type Outcome, type RunHook } from './outcome.ts'
import { fits, payloadOf } from './payload.ts'
import { type Ended, runProgram } from './run-program.ts'
import { shellWords } from './shell-words.ts'

export interface CommandHookDeps {
  readonly environment: () => Readonly<Record<string, string>>
  readonly cwd: string
  /** Why it may not run right now; '' where it may. */
  doubt(): string
}

/** Its exit code by which it says no. */
const blocks = 2
const maxReasonChars = 400

export function createCommandHook(hook: CommandHook, { environment, cwd, doubt }: CommandHookDeps): RunHook {
  return async ({ event, context, wanted, deadlineMs }) => {
    const words = shellWords(hook.command)
    if (words === undefined || !fits(hook.matcher, context)) return nothing
    const reason = doubt()
    if (reason !== '') return closed(hook, wanted, failed(reason, { kind: 'unavailable', blamed: false }))
    const input = JSON.stringify(payloadOf(event, context, cwd))
    const ended = await runProgram({ words, input, env: environment(), cwd, timeoutMs: deadlineMs })
    return closed(hook, wanted, outcomeOf(ended))
  }
}

/** What it says of an event when it cannot be asked; undefined where that lets things pass. */
export function answerInDoubt(hook: CommandHook, context: unknown): unknown {
  return hook.fail_closed && fits(hook.matcher, context)
    ? refusal('A hook that must allow this cannot be asked.')
    : undefined
}

function closed({ fail_closed }: CommandHook, wanted: boolean, outcome: Outcome): Outcome {
  return wanted && !outcome.ok && fail_closed ? { ok: true, value: refusal(outcome.text) } : outcome
}

const nothing: Outcome = { ok: true, value: null }

function outcomeOf({ code, stdout, stderr, problem }: Ended): Outcome {
  if (problem !== '') return failed(`The program failed: ${problem}.`)
  const said = stdout.trim()
  const answer = jsonOf(said)
  if (code === blocks) {
    const reason = answer === undefined ? stderr.trim().slice(0, maxReasonChars).toWellFormed() : reasonIn(answer)
    return { ok: true, value: refusal(reason) }
  }
  if (code !== 0) return failed(`The program ended with ${code}: ${lastLine(stderr)}`)
  if (said === '') return nothing
  if (answer === undefined) return failed(`The program wrote something else than JSON: ${said.slice(0, 80)}`)
  return { ok: true, value: isBlock(answer) ? refusal(reasonIn(answer)) : answer }
}

/** As a hook in a folder says it. */
function refusal(message: string): Readonly<Record<string, string>> {
  return { decision: 'deny', message }
}

type Answer = Readonly<Record<string, unknown>>

function isBlock({ decision, action }: Answer): boolean {
  return decision === 'block' || action === 'block'
}

function reasonIn({ reason, message }: Answer): string {
  return typeof reason === 'string' ? reason : typeof message === 'string' ? message : ''
}

function jsonOf(text: string): Answer | undefined {
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
