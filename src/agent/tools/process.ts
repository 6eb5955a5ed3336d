/**
 * Manages the background commands that `terminal` started.
 */

import { z } from 'zod'
import { asString } from '../../lib/json.ts'
import { beginningOf } from '../../lib/redact.ts'
import { stripTerminalEscapes } from '../../lib/terminal-escapes.ts'
import { sleep } from '../../lib/timers.ts'
import { toVisibleText } from '../../lib/visible-text.ts'
import { isUnchecked } from '../command-policy/policy.ts'
import { decideForPlace, type PolicyDecision } from '../command-policy/rule.ts'
import type { ProcessEntry } from '../environments/environment.ts'
import type { BuiltInToolDeps } from './deps.ts'
import { countOf, lineOf, toErrorJson, toResultJson } from './support/result-json.ts'
import { type ApprovalNeed, defineTool, type ToolContext } from './tool.ts'

const parameters = z.object({
  action: z.enum(['list', 'poll', 'log', 'wait', 'kill', 'write']),
  id: z.string().optional(),
  data: z.string().optional().describe('for write; sent unchanged, end a line with \\n'),
  timeout: z.number().positive().optional().describe('seconds, for wait'),
})

type Arguments = z.output<typeof parameters>

/** How long `wait` waits without a timeout argument. */
const defaultWaitMs = 60_000

export default ({ commandPolicy, terminal }: BuiltInToolDeps) =>
  defineTool({
    name: 'process',
    toolset: 'terminal',
    description: 'Background commands: list, poll (new output), log (all output), wait, kill, write (to stdin).',
    parameters,
    mode: ({ action }) => (action === 'list' || action === 'poll' || action === 'log' ? 'pure' : 'effect'),
    label: ({ action, id }) => (id === undefined ? action : `${action} ${id}`),
    summarize: ({ status, exit_code, output, processes }) => {
      if (Array.isArray(processes)) return countOf('process', processes.length)
      const state = typeof exit_code === 'number' ? `exit ${exit_code}` : asString(status)
      return [state, lineOf(asString(output))].filter(Boolean).join(', ')
    },

    approval({ action, id = '', data = '' }, { environment, processes }) {
      const entry = action === 'write' ? processes.get(id) : undefined
      return entry === undefined
        ? undefined
        : inputNeedOf(entry, data, decideForPlace(commandPolicy.evaluate(data), environment))
    },

    async run(args, context) {
      const { processes, limits } = context
      if (args.action === 'list') {
        return toResultJson({ processes: processes.list().map(summarizeProcess) }, limits.maxResultChars)
      }
      const entry = args.id === undefined ? undefined : processes.get(args.id)
      if (entry === undefined)
        return toErrorJson({ code: 'unknown_process', reason: unknownProcessMessage(args, context) })
      switch (args.action) {
        case 'poll':
          return formatProcessResult(entry, entry.takeOutput(), context)
        case 'log':
          return formatProcessResult(entry, entry.log(), context)
        case 'wait':
          await waitForExit(entry, Math.min(waitTimeoutMs(args), terminal.maxTimeoutMs), context.signal)
          return formatProcessResult(entry, entry.takeOutput(), context)
        case 'kill':
          entry.process.kill()
          await waitForExit(entry, 2_000, context.signal)
          return formatProcessResult(entry, entry.takeOutput(), context)
        case 'write': {
          const result = decideForPlace(commandPolicy.evaluate(args.data ?? ''), context.environment)
          if (result.decision === 'forbidden')
            return toErrorJson(
              { code: 'command_refused', reason: `Refused: this ${result.reason}.` },
              { rule: result.rule },
            )
          const need = context.isApproved === true ? undefined : inputNeedOf(entry, args.data ?? '', result)
          if (need !== undefined)
            return toErrorJson(
              { code: 'command_refused', reason: `Refused: ${need.reason} A user did not allow it.` },
              { rule: need.ruleKey },
            )
          const written = entry.process.write(args.data ?? '')
          return written
            ? formatProcessResult(entry, '', context)
            : toErrorJson({ code: 'input_closed', reason: `${entry.id} does not accept input any more.` })
        }
      }
    },
  })

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

function unknownProcessMessage({ id }: Arguments, { processes }: ToolContext): string {
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

function formatProcessResult(entry: ProcessEntry, output: string, { limits }: ToolContext): string {
  const { command: _, ...state } = summarizeProcess(entry)
  return toResultJson(
    { ...state, output: toVisibleText(stripTerminalEscapes(output), { keepsMarks: true }) },
    limits.maxResultChars,
    'output',
  )
}
