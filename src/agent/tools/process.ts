/**
 * Looks after the background commands that `terminal` started.
 */
import { stripVTControlCharacters } from 'node:util'
import { z } from 'zod'
import { pause } from '../../lib/wait.ts'
import type { ProcessEntry } from '../environments/process-table.ts'
import { defineTool, type ToolContext } from '../tool.ts'
import type { ToolDeps } from './deps.ts'
import { toError, toResult } from './support/result.ts'

const parameters = z.object({
  action: z.enum(['list', 'poll', 'log', 'wait', 'kill', 'write']),
  id: z.string().optional(),
  data: z.string().optional().describe('for write; sent as it is, end a line with \\n'),
  timeout: z.number().positive().optional().describe('seconds, for wait'),
})

type Arguments = z.output<typeof parameters>

/** How long `wait` waits when it is not told. */
const defaultWaitMs = 60_000

export default ({ policy, terminal }: ToolDeps) =>
  defineTool({
    name: 'process',
    toolset: 'terminal',
    description: 'Background commands: list, poll (new output), log (all output), wait, kill, write (to stdin).',
    parameters,
    mode: ({ action }) => (action === 'list' || action === 'poll' || action === 'log' ? 'pure' : 'effect'),
    label: ({ action, id }) => (id === undefined ? action : `${action} ${id}`),

    async run(args, context) {
      const { processes, limits } = context
      if (args.action === 'list') {
        return toResult({ processes: processes.list().map(summary) }, limits.maxResultChars)
      }
      const entry = args.id === undefined ? undefined : processes.get(args.id)
      if (entry === undefined) return toError(noSuchProcess(args, context))
      switch (args.action) {
        case 'poll':
          return report(entry, entry.takeOutput(), context)
        case 'log':
          return report(entry, entry.log(), context)
        case 'wait':
          await ended(entry, Math.min(waitMs(args), terminal.maxTimeoutMs), context.signal)
          return report(entry, entry.takeOutput(), context)
        case 'kill':
          entry.process.kill()
          await ended(entry, 2_000, context.signal)
          return report(entry, entry.takeOutput(), context)
        case 'write': {
          const verdict = policy.judge(args.data ?? '')
          if (verdict.verdict === 'forbidden')
            return toError(`Refused: this ${verdict.reason}.`, { rule: verdict.rule })
          const written = entry.process.write(args.data ?? '')
          return written ? report(entry, '', context) : toError(`${entry.id} takes no input any more.`)
        }
      }
    },
  })

function waitMs({ timeout }: Arguments): number {
  return timeout === undefined ? defaultWaitMs : timeout * 1_000
}

/** Resolves when the command has ended, the time is over or the signal aborts. */
async function ended(entry: ProcessEntry, timeoutMs: number, signal: AbortSignal): Promise<void> {
  const timer = new AbortController()
  try {
    await Promise.race([entry.process.ended, pause(timeoutMs, AbortSignal.any([signal, timer.signal]))])
  } finally {
    timer.abort()
  }
}

function noSuchProcess({ id }: Arguments, { processes }: ToolContext): string {
  const ids = processes.list().map((entry) => entry.id)
  const known = ids.length === 0 ? 'there are none' : `there are ${ids.join(', ')}`
  return id === undefined ? `Which one? Give its id; ${known}.` : `There is no process ${id}; ${known}.`
}

function summary(entry: ProcessEntry) {
  const exit = entry.exit()
  return {
    id: entry.id,
    command: entry.command.length > 200 ? `${entry.command.slice(0, 199)}…` : entry.command,
    status: exit === undefined ? 'running' : 'ended',
    ...(exit !== undefined && { exit_code: exit.exitCode }),
  }
}

function report(entry: ProcessEntry, output: string, { limits }: ToolContext): string {
  const { command: _, ...state } = summary(entry)
  return toResult({ ...state, output: stripVTControlCharacters(output) }, limits.maxResultChars, 'output')
}
