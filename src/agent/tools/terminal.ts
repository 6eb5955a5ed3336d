/**
 * Runs shell commands, after the policy has judged them.
 */
import { stripVTControlCharacters } from 'node:util'
import { z } from 'zod'
import { defineTool, type ToolContext } from '../tool.ts'
import type { TerminalLimits, ToolDeps } from './deps.ts'
import { absolutePath } from './support/paths.ts'
import { toError, toResult } from './support/result.ts'

const parameters = z.object({
  command: z.string().min(1),
  workdir: z.string().optional(),
  timeout: z.number().positive().optional().describe('seconds'),
  background: z.boolean().optional().describe('for servers and long jobs; returns an id for `process`'),
})

type Arguments = z.output<typeof parameters>

export default (deps: ToolDeps) =>
  defineTool({
    name: 'terminal',
    toolset: 'terminal',
    description: 'Run a bash command. It gets no input; stdout and stderr come back together, long output is cut.',
    parameters,
    mode: 'effect',
    label: ({ command }) => firstLine(command),

    async run(args, context) {
      const { command, background = false } = args
      const cwd = folderOf(args, context, deps)
      const verdict = deps.policy.judge(command, { cwd, interactive: background })
      if (verdict.verdict !== 'allow') {
        context.log.warn({ rule: verdict.rule, verdict: verdict.verdict }, 'a command was refused')
        return toError(refusal(verdict.verdict, verdict.reason), { rule: verdict.rule })
      }
      return background ? start(command, cwd, context) : runToEnd(args, cwd, context, deps.terminal)
    },
  })

function folderOf({ workdir }: Arguments, { environment }: ToolContext, { userHome }: ToolDeps): string {
  return workdir === undefined ? environment.cwd : absolutePath(workdir, environment.cwd, userHome)
}

function refusal(verdict: 'forbidden' | 'needs-approval', reason: string): string {
  if (verdict === 'forbidden') return `Refused: this command ${reason}. It never runs; do not try another way.`
  return `Refused: this command ${reason}. That needs a person's approval, which cannot be given here yet. Find a way without it, or tell the person what to run.`
}

async function runToEnd(args: Arguments, cwd: string, context: ToolContext, limits: TerminalLimits): Promise<string> {
  const { environment, signal } = context
  const asked = args.timeout === undefined ? limits.timeoutMs : args.timeout * 1_000
  const timeoutMs = Math.min(asked, limits.maxTimeoutMs)
  const result = await environment.execute(args.command, {
    cwd,
    timeoutMs,
    signal,
    maxOutputBytes: limits.maxOutputBytes,
  })
  const value = {
    output: stripVTControlCharacters(result.output),
    exit_code: result.exitCode,
    ...(result.timedOut && { timed_out: `ended after ${timeoutMs / 1_000} s` }),
    ...(result.aborted && { aborted: true }),
  }
  return toResult(value, context.limits.maxResultChars, 'output')
}

async function start(command: string, cwd: string, context: ToolContext): Promise<string> {
  const { environment, processes } = context
  if (environment.spawn === undefined) return toError(`There are no background commands in ${environment.kind}.`)
  const entry = processes.add(command, environment.spawn(command, { cwd }))
  return toResult({ id: entry.id, pid: entry.process.pid, status: 'running' }, context.limits.maxResultChars)
}

function firstLine(command: string): string {
  const [line = ''] = command.trim().split('\n', 1)
  return line.length > 80 ? `${line.slice(0, 79)}…` : line
}
