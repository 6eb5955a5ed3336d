/**
 * Runs the shell command of a quick command (`quick_commands`, contract §3.5): judged by the command policy, in the sandbox of
 * the agent, with a filtered environment and a time limit. Loaded with the first one.
 */
import type { CommandPolicy } from '../../agent/command-policy/policy.ts'
import type { Environment } from '../../agent/environments/environment.ts'
import type { CommandContext } from '../../commands/command.ts'
import type { CommandRegistry } from '../../commands/registry.ts'
import { laterUrgentEvents } from '../../inbox/queries.ts'
import { parseStoredEvent } from '../../inbox/stored-event.ts'
import type { SecretRegistry } from '../../lib/redact.ts'
import { stripTerminalEscapes } from '../../lib/visible-text.ts'
import type { Runtime } from '../../store/runtime.ts'
import type { CommandDecisions } from './command-decision.ts'

interface QuickGateway extends Pick<Runtime, 'store' | 'log'> {
  readonly secrets: Pick<SecretRegistry, 'redact'>
}

/** A shell of its own for this command. Rejects when commands do not run on this machine. */
type OpenShell = () => Promise<{ readonly environment: Environment; readonly commandPolicy: CommandPolicy }>

const timeoutMs = 30_000
const maxOutputBytes = 32_768
const maxReplyChars = 6_000

interface QuickCore {
  readonly commands: Pick<CommandRegistry, 'bypassesHooks'>
  readonly commandDecisions: Pick<CommandDecisions, 'untilSuperseded'>
}

/** Resolves with the reply. A refused or failed command is a reply, too. `/stop` ends it. */
export async function runQuickCommand(
  gateway: QuickGateway,
  { commands, commandDecisions }: QuickCore,
  openShell: OpenShell,
  command: string,
  context: CommandContext,
): Promise<string> {
  const { sessionKey: key, message } = context
  // After a crash a `/stop` is known from the store alone, and may have ended before the command did.
  const later = message === undefined ? [] : await gateway.store.run(() => laterUrgentEvents(key, message.seq))
  const isStopped = later.some((payload) => commands.bypassesHooks(parseStoredEvent(payload)))
  return await commandDecisions.untilSuperseded({ key, seq: message?.seq }, (superseded) => {
    const signal = isStopped ? AbortSignal.abort() : AbortSignal.any([context.signal, superseded])
    return runInShell(gateway, openShell, command, { ...context, signal })
  })
}

async function runInShell(
  { secrets, log }: QuickGateway,
  openShell: OpenShell,
  command: string,
  { name, authority, signal }: CommandContext,
): Promise<string> {
  if (signal.aborted) return stoppedText(name)
  const { environment, commandPolicy } = await openShell()
  try {
    const limitsHermes = (await environment.isSandboxed?.()) === true
    const decision = commandPolicy.evaluate(command, { cwd: environment.cwd, limitsHermes })
    // An owner has defined the command, so an owner who types it needs no further approval.
    const isRefused = decision.decision === 'forbidden' || (decision.decision !== 'allow' && authority.role !== 'owner')
    if (isRefused) {
      log.warn({ event: 'quick_command.refused', command: name, rule: decision.rule }, 'a quick command was refused')
      const why = decision.decision === 'forbidden' ? 'It never runs.' : 'Only an owner may run it.'
      return `\`/${name}\` was not run: its command ${decision.reason}. ${why}`
    }
    const result = await environment.execute(command, { timeoutMs, signal, maxOutputBytes })
    const { exitCode, timedOut, aborted } = result
    log.info({ event: 'quick_command.ended', command: name, exitCode, timedOut, aborted }, 'a quick command ended')
    const output = formatOutput(secrets.redact(stripTerminalEscapes(result.output)))
    if (aborted) return `${stoppedText(name)}${output}`
    if (timedOut) return `\`/${name}\` was ended after ${timeoutMs / 1_000} s.${output}`
    if (exitCode === 0) return output === '' ? '✓ Done.' : output.trimStart()
    return `\`/${name}\` failed with the exit code ${exitCode ?? 'of a signal'}.${output}`
  } finally {
    await environment.cleanup()
  }
}

function stoppedText(name: string): string {
  return `⏹ \`/${name}\` was stopped.`
}

function formatOutput(output: string): string {
  const text = output.trim()
  if (text === '') return ''
  const left = text.length - maxReplyChars
  const shown = left <= 0 ? text : `${text.slice(0, maxReplyChars).toWellFormed()}\n… ${left} characters left out`
  return `\n\n\`\`\`text\n${shown.replaceAll('```', "'''")}\n\`\`\``
}
