/**
 * Runs shell commands that the command policy allows.
 */

import { z } from 'zod'
import { lazy } from '../../lib/cache.ts'
import { asString } from '../../lib/json.ts'
import { decideForEnvironment, isUnchecked, shapeOfCommand } from '../command-policy/policy.ts'
import type { NeedsApproval, PolicyDecision } from '../command-policy/rule.ts'
import type { Environment } from '../environments/environment.ts'
import { lineOf, toErrorJson } from '../support/result-json.ts'
import type { TerminalPort } from './support/terminal-port.ts'
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
  // Most messages run no command.
  const load = lazy(() => import('./support/run-command.ts'))
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
      const { runInForeground, startInBackground } = await load()
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
