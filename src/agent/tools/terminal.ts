/**
 * Runs shell commands that the command policy allows, in the foreground and in the background.
 */
import { z } from 'zod'
import { HermesError } from '../../lib/errors.ts'
import { asString } from '../../lib/json.ts'
import { stripTerminalEscapes, toVisibleText } from '../../lib/visible-text.ts'
import { changeSessionSetting } from '../../sessions/session-state.ts'
import { shapeOfCommand } from '../command-policy/command-shape.ts'
import { decideForEnvironment, isUnchecked } from '../command-policy/policy.ts'
import type { NeedsApproval, PolicyDecision } from '../command-policy/rule.ts'
import type {
  BackgroundCommand,
  Environment,
  ExecuteOptions,
  ExportedVariables,
  ProcessEntry,
  ShellState,
} from '../environments/environment.ts'
import {
  continuingCommand,
  limitOutput,
  mergeExports,
  reportingCommand,
  reportRoomBytes,
  type ShellEnd,
} from '../environments/shell-end.ts'
import { lineOf, storedCharsOf, toErrorJson, toResultJson } from '../support/result-json.ts'
import type { TerminalLimits, TerminalPort } from './support/terminal-port.ts'
import { type ApprovalNeed, defineToolCode, type ToolContext } from './tool.ts'

const parameters = z.object({
  command: z.string().min(1),
  workdir: z.string().optional(),
  timeout: z.number().positive().optional().describe('seconds'),
  background: z.boolean().optional().describe('for servers and long jobs; returns an id for `process`'),
  outside_sandbox: z.boolean().optional().describe('asks an owner; for what the sandbox denies'),
  notify_on_complete: z.boolean().optional(),
  watch_patterns: z.array(z.string().min(1).max(500)).max(20).optional(),
  pty: z.boolean().optional(),
})

type Arguments = z.output<typeof parameters>

export const createTerminalTool = (deps: TerminalPort) => {
  return defineToolCode({
    name: 'terminal',
    description: 'Run a bash command without input. Its directory and exports stay.',
    parameters,
    mode: 'effect',
    label: ({ command }) => command,
    summarize: ({ output, exit_code, timed_out, id, status }) => {
      if (typeof output !== 'string') return status === 'running' ? `started as ${asString(id)}` : ''
      const exit = typeof timed_out === 'string' ? timed_out : exit_code === 0 ? '' : `exit ${String(exit_code)}`
      return [exit, lineOf(output) || (exit === '' ? 'no output' : '')].filter(Boolean).join(', ')
    },

    async approval(args, context) {
      const { command } = args
      const cwd = workingDirectoryOf(args, context)
      const policyResult = await judge(args, cwd, context, deps)
      if (policyResult.decision === 'forbidden') return undefined
      if (isOutside(args, context)) return needOutsideSandbox(command, cwd, policyResult, context)
      return policyResult.decision === 'needs-approval'
        ? approvalNeedOf(command, cwd, policyResult, context)
        : undefined
    },

    async run(args, context) {
      const { background = false } = args
      const cwd = workingDirectoryOf(args, context)
      const policyResult = await judge(args, cwd, context, deps)
      const { decision } = policyResult
      if (decision !== 'forbidden' && isOutside(args, context) && context.isApproved !== true)
        return toErrorJson({ code: 'command_refused', reason: outsideRefused }, { rule: outsideRule })
      if (decision === 'forbidden' || (decision === 'needs-approval' && context.isApproved !== true)) {
        const { rule, reason } = policyResult
        deps.log.warn(
          { event: 'command.refused', turn: context.turnId, rule, decision },
          'command policy refused a command',
        )
        return toErrorJson({ code: 'command_refused', reason: refusalMessage(decision, reason) }, { rule })
      }
      await deps.beforeChange?.({ tool: 'terminal', paths: [cwd], command: args.command }, context)
      return background
        ? startInBackground(args, cwd, context, deps)
        : runInForeground(args, cwd, context, deps.terminal)
    },
  })
}

async function judge(
  args: Arguments,
  cwd: string,
  context: ToolContext,
  { commandPolicy }: TerminalPort,
): Promise<PolicyDecision> {
  const { command, background = false } = args
  const { environment } = context
  const limitsHermes = !isOutside(args, context) && (await environment.isSandboxed?.()) === true
  const judged = commandPolicy.evaluate(command, { cwd, interactive: background, limitsHermes })
  return decideForEnvironment(judged, environment)
}

/** Where there is no sandbox, nothing is outside of it. */
function isOutside({ outside_sandbox }: Arguments, { environment }: ToolContext): boolean {
  return outside_sandbox === true && environment.isSandboxed !== undefined
}

function workingDirectoryOf({ workdir }: Arguments, { environment }: ToolContext): string {
  return workdir === undefined ? environment.cwd : environment.files.resolve(workdir)
}

async function approvalNeedOf(
  command: string,
  cwd: string,
  { rule, reason }: NeedsApproval,
  { environment }: ToolContext,
): Promise<ApprovalNeed> {
  const unchecked = isUnchecked(rule)
  const shape = unchecked ? undefined : shapeOfCommand(command)
  return {
    source: 'policy',
    ruleKey: rule,
    reason: `This command ${reason}.`,
    command,
    place: await placeOf(cwd, environment),
    remember: unchecked ? 'call' : shape === undefined ? 'session' : 'always',
    shape,
  }
}

/** The folder and how commands are separated from the machine, for the user. An answer holds only for this place. */
async function placeOf(cwd: string, { kind, isSandboxed }: Environment): Promise<string> {
  if (isSandboxed === undefined) return `${cwd} (${kind})`
  return `${cwd} (${kind}, ${(await isSandboxed()) ? 'inside the sandbox' : 'without a sandbox'})`
}

const outsideRule = 'outside-sandbox'
const outsideRefused = 'Refused: only an owner may let a command run outside the sandbox, and none did. It was not run.'

/** Each such command is a question of its own, whatever the configuration says. */
function needOutsideSandbox(
  command: string,
  cwd: string,
  policyResult: PolicyDecision,
  { environment }: ToolContext,
): ApprovalNeed {
  const why = policyResult.decision === 'needs-approval' ? ` It ${policyResult.reason}.` : ''
  return {
    source: 'policy',
    ruleKey: outsideRule,
    reason: `This command is to run outside the sandbox.${why}`,
    command,
    place: `${cwd} (${environment.kind}, outside the sandbox)`,
    remember: 'call',
    ownerOnly: true,
  }
}

function refusalMessage(decision: 'forbidden' | 'needs-approval', reason: string): string {
  if (decision === 'forbidden') return `Refused: this command ${reason}. It never runs; do not try another way.`
  return `Refused: this command ${reason}. It needs a user's approval, which was not given. Find another way, or tell the user what to run.`
}

/** `cwd`: absolute. Rejects as the environment. */
async function runInForeground(
  args: Arguments,
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
      : reportingCommand(args.command, cwd, exportsOf(shell, context))
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

const noExports = (): ExportedVariables => new Map()

/** What earlier commands of the role have exported. */
function exportsOf({ exports }: ShellState, { turn }: ToolContext): ExportedVariables {
  return exports.get(turn.authority.role) ?? noExports()
}

/** What the model is told about the end of the command. */
async function keepEnd(
  { workdir }: Arguments,
  { directory, exports, isTooLarge }: ShellEnd,
  shell: ShellState,
  context: ToolContext,
): Promise<Readonly<Record<string, string>>> {
  const { sessionId, turn, loop } = context
  const merged = exports === undefined ? undefined : mergeExports(exportsOf(shell, context), exports)
  if (merged !== undefined) shell.exports.set(turn.authority.role, merged)
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
async function pseudoTerminalOf({ pty = false }: Arguments) {
  const same = <Value>(value: Value) => value
  if (!pty) return { wrap: same<string>, read: same<string>, type: same<BackgroundCommand> }
  const { inPseudoTerminal, fromTerminal, typedCommand } = await import('../environments/pseudo-terminal.ts')
  return { wrap: inPseudoTerminal, read: fromTerminal, type: typedCommand }
}

/** Called only after a person has agreed to the command. */
function outsideOption({ outside_sandbox }: Arguments): Pick<ExecuteOptions, 'outsideSandbox'> {
  return outside_sandbox === true ? { outsideSandbox: true } : {}
}

/** `cwd`: absolute. Rejects as the environment. */
async function startInBackground(
  args: Arguments,
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
  const exports = shell === undefined || args.outside_sandbox === true ? noExports() : exportsOf(shell, context)
  const { script, variables } = continuingCommand(args.command, exports)
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
  { notify_on_complete: onComplete = false, watch_patterns: patterns = [] }: Arguments,
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
