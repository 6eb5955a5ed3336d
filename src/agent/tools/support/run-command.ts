/**
 * Runs the commands of the tool `terminal`, after the command policy has allowed them. Loaded with the first command.
 */
import { HermesError } from '../../../lib/errors.ts'
import { stripTerminalEscapes, toVisibleText } from '../../../lib/visible-text.ts'
import { changeSessionSetting } from '../../../sessions/session-state.ts'
import type {
  BackgroundCommand,
  ExecuteOptions,
  ExportedVariables,
  ProcessEntry,
  ShellState,
} from '../../environments/environment.ts'
import {
  continuingCommand,
  limitOutput,
  mergeExports,
  reportingCommand,
  reportRoomBytes,
  type ShellEnd,
} from '../../environments/shell-end.ts'
import { storedCharsOf, toErrorJson, toResultJson } from '../../support/result-json.ts'
import type { ToolContext } from '../tool.ts'
import type { TerminalLimits, TerminalPort } from './terminal-port.ts'

/** The arguments of the tool. */
export interface TerminalArguments {
  readonly command: string
  readonly workdir?: string | undefined
  /** Seconds. */
  readonly timeout?: number | undefined
  readonly outside_sandbox?: boolean | undefined
  readonly pty?: boolean | undefined
  readonly notify_on_complete?: boolean | undefined
  readonly watch_patterns?: readonly string[] | undefined
}

const none: ExportedVariables = new Map()

/** `cwd`: absolute. Rejects as the environment. */
export async function runInForeground(
  args: TerminalArguments,
  cwd: string,
  context: ToolContext,
  limits: TerminalLimits,
): Promise<string> {
  const { environment, signal } = context
  const { shell } = context.session
  const requestedMs = args.timeout === undefined ? limits.timeoutMs : args.timeout * 1_000
  const timeoutMs = Math.min(requestedMs, limits.maxTimeoutMs)
  const { maxOutputBytes } = limits
  const options = { cwd, exposed: await context.conversation.attachments(), timeoutMs, signal, maxOutputBytes }
  // A command outside the sandbox neither gets variables from inside nor leaves any.
  const command =
    shell === undefined || args.outside_sandbox === true
      ? undefined
      : reportingCommand(args.command, cwd, shell.exports.get(context.turn.authority.role) ?? none)
  const terminal = await pseudoTerminalOf(args)
  const result = await orDirectoryGone(context, cwd, () =>
    command === undefined
      ? environment.execute(terminal.wrap(args.command), { ...options, ...outsideOption(args) })
      : environment.execute(terminal.wrap(command.script), {
          ...options,
          variables: command.variables,
          maxOutputBytes: maxOutputBytes + reportRoomBytes,
        }),
  )
  if (typeof result === 'string') return result
  const { output, end }: { output: string; end?: ShellEnd } = command?.read(result.output) ?? result
  const left = shell === undefined || end === undefined ? {} : await keepEnd(args, end, shell, context)
  const value = {
    output: toVisibleText(stripTerminalEscapes(terminal.read(limitOutput(output, maxOutputBytes))), {
      keepsMarks: true,
    }),
    exit_code: result.exitCode,
    ...(result.timedOut && { timed_out: `killed after ${timeoutMs / 1_000} s` }),
    ...(result.aborted && { aborted: true }),
    ...left,
  }
  return toResultJson(value, storedCharsOf(context.limits), 'output')
}

/** What the model is told about the end of the command. */
async function keepEnd(
  { workdir }: TerminalArguments,
  { directory, exports, isTooLarge }: ShellEnd,
  shell: ShellState,
  { sessionId, turn, loop }: ToolContext,
): Promise<Readonly<Record<string, string>>> {
  const { role } = turn.authority
  const merged = exports === undefined ? undefined : mergeExports(shell.exports.get(role) ?? none, exports)
  if (merged !== undefined) shell.exports.set(role, merged)
  const isDropped = isTooLarge === true || (exports !== undefined && merged === undefined)
  const note = isDropped ? { note: 'The exported variables are too large: the next command does not get them.' } : {}
  // `workdir` is for one command alone.
  if (directory === undefined || workdir !== undefined) return note
  shell.directory = directory
  // For a restart of the gateway. A sub-agent has a directory of its own, and a plugin outside of turns no conversation.
  const { sessionKey } = turn
  if (sessionKey !== undefined && sessionId === turn.sessionId)
    loop?.writeWithResult({ write: () => changeSessionSetting(sessionKey, 'directory', directory) })
  return { cwd: directory, ...note }
}

/** In another directory the command might do harm. */
async function orDirectoryGone<T>(
  { session: { shell }, environment }: ToolContext,
  cwd: string,
  run: () => Promise<T>,
): Promise<T | string> {
  try {
    return await run()
  } catch (error) {
    const isGone = error instanceof HermesError && error.code === 'terminal/no-folder'
    if (!isGone || shell?.directory !== cwd) throw error
    shell.directory = undefined
    return toErrorJson({
      code: 'directory_gone',
      reason: `${cwd}, where the last command ended, does not exist any more. This command was not run. The next one begins in the working directory of the ${environment.kind} environment, or in workdir.`,
    })
  }
}

/** Does nothing for a command without a pseudo-terminal. */
async function pseudoTerminalOf({ pty = false }: TerminalArguments) {
  const same = <Value>(value: Value) => value
  if (!pty) return { wrap: same<string>, read: same<string>, type: same<BackgroundCommand> }
  const { inPseudoTerminal, fromTerminal, typedCommand } = await import('../../environments/pseudo-terminal.ts')
  return { wrap: inPseudoTerminal, read: fromTerminal, type: typedCommand }
}

/** Called only after a person has agreed to the command. */
function outsideOption({ outside_sandbox }: TerminalArguments): Pick<ExecuteOptions, 'outsideSandbox'> {
  return outside_sandbox === true ? { outsideSandbox: true } : {}
}

/** `cwd`: absolute. Rejects as the environment. */
export async function startInBackground(
  args: TerminalArguments,
  cwd: string,
  context: ToolContext,
  port: Pick<TerminalPort, 'watchesOf'>,
): Promise<string> {
  const { environment, session } = context
  const { processes, shell } = session
  if (environment.spawn === undefined)
    return toErrorJson({
      code: 'no_background_commands',
      reason: `Background commands are not available in ${environment.kind}.`,
    })
  const options = { cwd, exposed: await context.conversation.attachments(), ...outsideOption(args) }
  const exports = args.outside_sandbox === true ? undefined : shell?.exports.get(context.turn.authority.role)
  const { script, variables } = continuingCommand(args.command, exports ?? none)
  const terminal = await pseudoTerminalOf(args)
  const started = await orDirectoryGone(context, cwd, async () =>
    environment.spawn?.(terminal.wrap(script), { ...options, variables }),
  )
  if (typeof started === 'string' || started === undefined) return started ?? ''
  const entry = processes.add(args.command, terminal.type(started), options)
  const value = {
    id: entry.id,
    pid: entry.process.pid,
    status: 'running',
    ...(await watchCommand(entry, args, context, port)),
  }
  return toResultJson(value, context.limits.maxResultChars)
}

/** What the model is told about the messages that it asked for. */
async function watchCommand(
  entry: ProcessEntry,
  { notify_on_complete: onComplete = false, watch_patterns: patterns = [] }: TerminalArguments,
  context: ToolContext,
  { watchesOf }: Pick<TerminalPort, 'watchesOf'>,
): Promise<Readonly<Record<string, unknown>>> {
  if (!onComplete && patterns.length === 0) return {}
  const watches = watchesOf?.(context)
  if (watches === undefined || context.loop === undefined)
    return { notify: false, note: 'No message can come later here. Use process wait.' }
  const watch = await watches.start(entry, { onComplete, patterns })
  if ('refusal' in watch) return { notify: false, note: watch.refusal }
  context.loop.writeWithResult(watch.write)
  return { notify: true }
}
