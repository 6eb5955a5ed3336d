/**
 * Manages the background commands that `terminal` started.
 */

import { z } from 'zod'
import { asRecord, asString, parseJson } from '../../lib/json.ts'
import { beginningOf } from '../../lib/redact.ts'
import { sleep } from '../../lib/timers.ts'
import { stripTerminalEscapes, toVisibleText } from '../../lib/visible-text.ts'
import { decideForEnvironment, isUnchecked } from '../command-policy/policy.ts'
import type { PolicyDecision } from '../command-policy/rule.ts'
import type { ProcessEntry } from '../environments/environment.ts'
import { countOf, lineOf, storedCharsOf, toErrorJson, toResultJson } from '../support/result-json.ts'
import type { TerminalPort } from './support/terminal-port.ts'
import { type ApprovalNeed, defineToolCode, type ToolContext } from './tool.ts'

const actions = ['list', 'poll', 'log', 'wait', 'kill', 'write', 'submit', 'close'] as const

const parameters = z.object({
  action: z.enum(actions),
  id: z.string().optional(),
  /** The name of Hermes for `id`. */
  session_id: z.string().optional(),
  data: z.string().optional(),
  timeout: z.number().positive().optional(),
  offset: z.int().min(0).optional(),
  limit: z.int().min(1).optional(),
})

/** Each request contains it. */
const jsonSchema = {
  type: 'object',
  properties: {
    action: { type: 'string', enum: [...actions] },
    id: { type: 'string' },
    data: { type: 'string' },
    timeout: { type: 'number' },
  },
  required: ['action'],
}

type Arguments = z.output<typeof parameters>

/** How long `wait` waits without a timeout argument. */
const defaultWaitMs = 60_000

export const createProcessTool = ({ commandPolicy, terminal, watchesOf }: TerminalPort) =>
  defineToolCode({
    name: 'process',
    description: 'Background commands. poll: new output; log: offset, limit; submit: a line to stdin.',
    ...{ parameters, jsonSchema, acceptsUndescribed: true },
    mode: ({ action }) => (action === 'list' || action === 'poll' || action === 'log' ? 'pure' : 'effect'),
    label: (args) => (idOf(args) === undefined ? args.action : `${args.action} ${idOf(args)}`),
    summarize: ({ status, exit_code, output, processes }) => {
      if (Array.isArray(processes)) return countOf('process', processes.length)
      const state = typeof exit_code === 'number' ? `exit ${exit_code}` : asString(status)
      return [state, lineOf(asString(output))].filter(Boolean).join(', ')
    },

    approval(args, { environment, session: { processes } }) {
      const { action, data = '' } = args
      const entry = action === 'write' || action === 'submit' ? processes.get(idOf(args) ?? '') : undefined
      return entry === undefined
        ? undefined
        : inputNeedOf(entry, data, decideForEnvironment(commandPolicy.evaluate(data), environment))
    },

    async run(args, context) {
      const { limits } = context
      const { processes } = context.session
      if (args.action === 'list') {
        return toResultJson({ processes: processes.list().map(summarizeProcess) }, limits.maxResultChars)
      }
      const entry = processes.get(idOf(args) ?? '')
      if (entry === undefined)
        return toErrorJson({ code: 'unknown_process', reason: unknownProcessMessage(args, context) })
      const claim = await watchesOf?.(context)?.claim(entry)
      let isTold = false
      try {
        const result = await act(entry, args, context, { commandPolicy, terminal })
        isTold = claim !== undefined && asRecord(parseJson(result))['status'] === 'ended'
        return result
      } finally {
        // The agent learns here that the command has ended, so that no message says it again.
        if (isTold && claim !== undefined) context.loop?.writeWithResult(claim.told())
        else claim?.release()
      }
    },
  })

async function act(
  entry: ProcessEntry,
  args: Arguments,
  context: ToolContext,
  { commandPolicy, terminal }: Pick<TerminalPort, 'commandPolicy' | 'terminal'>,
): Promise<string> {
  switch (args.action) {
    case 'log':
      return formatLog(entry, args, context)
    case 'wait':
      await waitForExit(entry, Math.min(waitTimeoutMs(args), terminal.maxTimeoutMs), context.signal)
      return formatProcessResult(entry, entry.takeOutput(), context)
    case 'kill':
      entry.process.kill()
      await waitForExit(entry, 2_000, context.signal)
      return formatProcessResult(entry, entry.takeOutput(), context)
    case 'close':
      return entry.process.endInput?.() === true ? formatProcessResult(entry, '', context) : inputClosed(entry)
    case 'write':
    case 'submit':
      return writeInput(entry, args, context, commandPolicy)
    default:
      return formatProcessResult(entry, entry.takeOutput(), context)
  }
}

/** Input of a shell is a command. */
function writeInput(
  entry: ProcessEntry,
  { action, data = '' }: Arguments,
  context: ToolContext,
  commandPolicy: TerminalPort['commandPolicy'],
): string {
  const result = decideForEnvironment(commandPolicy.evaluate(data), context.environment)
  if (result.decision === 'forbidden')
    return toErrorJson({ code: 'command_refused', reason: `Refused: this ${result.reason}.` }, { rule: result.rule })
  const need = context.isApproved === true ? undefined : inputNeedOf(entry, data, result)
  if (need !== undefined)
    return toErrorJson(
      { code: 'command_refused', reason: `Refused: ${need.reason} A user did not allow it.` },
      { rule: need.ruleKey },
    )
  const isWritten = entry.process.write(action === 'submit' ? `${data}\n` : data)
  return isWritten ? formatProcessResult(entry, '', context) : inputClosed(entry)
}

function idOf({ id, session_id }: Arguments): string | undefined {
  return id ?? session_id
}

function inputClosed({ id }: ProcessEntry): string {
  return toErrorJson({ code: 'input_closed', reason: `${id} does not accept input any more.` })
}

/** `limit` lines from `offset` on, or the last ones without it. */
function formatLog(entry: ProcessEntry, { offset = 0, limit }: Arguments, context: ToolContext): string {
  const log = entry.log()
  if (offset === 0 && limit === undefined) return formatProcessResult(entry, log, context)
  const lines = (log.endsWith('\n') ? log.slice(0, -1) : log).split('\n')
  const shown = offset === 0 ? lines.slice(-(limit ?? 0)) : lines.slice(offset, offset + (limit ?? lines.length))
  return formatProcessResult(entry, shown.join('\n'), context, { total_lines: lines.length })
}

/**
 * Input of a shell is a command. Input of a command that runs outside the sandbox is asked about each time, because nothing
 * else limits what it does.
 */
function inputNeedOf(entry: ProcessEntry, data: string, result: PolicyDecision): ApprovalNeed | undefined {
  const isOutside = entry.outsideSandbox === true
  if (result.decision === 'forbidden' || (result.decision === 'allow' && !isOutside)) return undefined
  const place = `${entry.id}: ${entry.command}${isOutside ? ' (outside the sandbox)' : ''}`
  const reasons = [
    ...(isOutside ? ['This is input for a command that runs outside the sandbox.'] : []),
    ...(result.decision === 'needs-approval' ? [`This input ${result.reason}.`] : []),
  ]
  return {
    source: 'policy',
    ruleKey: result.decision === 'allow' ? 'outside-sandbox' : result.rule,
    reason: reasons.join(' '),
    command: data,
    place,
    remember: isOutside || (result.decision === 'needs-approval' && isUnchecked(result.rule)) ? 'call' : 'session',
    ...(isOutside && { ownerOnly: true }),
  }
}

function waitTimeoutMs({ timeout }: Arguments): number {
  return timeout === undefined ? defaultWaitMs : timeout * 1_000
}

/** Resolves when the command has exited, the time is over or the signal aborts. */
async function waitForExit(entry: ProcessEntry, timeoutMs: number, signal: AbortSignal): Promise<void> {
  const timer = new AbortController()
  try {
    await Promise.race([entry.process.exited, sleep(timeoutMs, AbortSignal.any([signal, timer.signal]))])
  } finally {
    timer.abort()
  }
}

function unknownProcessMessage(args: Arguments, { session: { processes } }: ToolContext): string {
  const id = idOf(args)
  const ids = processes.list().map((entry) => entry.id)
  const known = ids.length === 0 ? 'there are none' : `there are ${ids.join(', ')}`
  return id === undefined ? `id is missing; ${known}.` : `There is no process ${id}; ${known}.`
}

function summarizeProcess(entry: ProcessEntry) {
  const exit = entry.exit()
  const command = beginningOf(entry.command, 200)
  return {
    id: entry.id,
    command: command === entry.command ? command : `${command}…`,
    status: exit === undefined ? 'running' : 'ended',
    ...(exit !== undefined && { exit_code: exit.exitCode }),
  }
}

function formatProcessResult(
  entry: ProcessEntry,
  output: string,
  { limits }: ToolContext,
  more: Readonly<Record<string, number>> = {},
): string {
  const { command: _, ...state } = summarizeProcess(entry)
  return toResultJson(
    { ...state, ...more, output: toVisibleText(stripTerminalEscapes(output), { keepsMarks: true }) },
    storedCharsOf(limits),
    'output',
  )
}
