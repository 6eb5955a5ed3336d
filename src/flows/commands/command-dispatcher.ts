/**
 * Runs the control queue: commands run at once, concurrently with a turn, in the order of their arrival.
 */
import type { Questions } from '../../approvals/questions.ts'
import { isConfirmed, type SlashConfirm } from '../../approvals/slash-confirm.ts'
import type { TypedMessage } from '../../commands/busy.ts'
import { type CommandContext, type CommandDefinition, textReply } from '../../commands/command.ts'
import type { CommandRegistry } from '../../commands/registry.ts'
import { attemptsExhausted } from '../../inbox/attempts.ts'
import type { EventResults } from '../../inbox/inbox.ts'
import {
  claimEvent,
  findCommand,
  finishEvent,
  markEventDead,
  type QueueHead,
  resultWithoutModel,
} from '../../inbox/queries.ts'
import { parseStoredEvent } from '../../inbox/stored-event.ts'
import { HermesError, messageOf } from '../../lib/errors.ts'
import { type MessageEvent, parseCommand } from '../../message/event.ts'
import type { HookEventListener } from '../../message/hook-events.ts'
import type { SessionKey } from '../../message/ids.ts'
import { type SessionSource, targetOf } from '../../message/source.ts'
import type { TurnResult } from '../../message/turn-result.ts'
import type { Outbox, Reply } from '../../outbox/outbox.ts'
import type { GatewayHooks } from '../../plugins/gateway-hooks.ts'
import type { RunningTurns } from '../../sessions/running-turns.ts'
import { afterCommit, enlist, type TransactionPart } from '../../store/query.ts'
import type { Runtime } from '../../store/runtime.ts'
import type { AccountDirectory } from '../access/account-directory.ts'
import type { CommandTiers, refuseCommand } from '../access/command-ceiling.ts'
import type { GatewayEvents } from '../events/gateway-events.ts'
import type { CommandDecisions } from './command-decision.ts'

/** What decides whether a person may use a command. */
export interface CommandAccounts extends Pick<AccountDirectory, 'isShared'> {
  commandTiersOf(source: SessionSource): CommandTiers | undefined
}

interface DispatchingGateway extends Pick<Runtime, 'store' | 'stopping' | 'clock' | 'log' | 'failpoint'> {
  readonly accountDirectory: CommandAccounts &
    Pick<AccountDirectory, 'access' | 'authorityOf' | 'emitsEvents' | 'isRevoked'>
}

/** The commands, those who decide about them, and the route of their replies. */
interface CommandRoute {
  readonly outbox: Outbox
  readonly turnResults: EventResults
  readonly commands: Pick<CommandRegistry, 'resolve'>
  readonly events: Pick<GatewayEvents, 'emit' | 'emitsMessageEvents' | 'notifyListeners'>
  readonly commandDecisions: Pick<CommandDecisions, 'decide'>
  /** Plugins learn of a command before hooks decide about it, where no turn of the session runs. */
  readonly pluginRegistries: { readonly gatewayHooks: Pick<GatewayHooks, 'commandReceived'> }
  readonly runningTurns: Pick<RunningTurns, 'isRunning'>
  readonly approvals: {
    readonly questions: Pick<Questions, 'answerPlain'>
    readonly confirmCommand: SlashConfirm
  }
}

/** Runs the queued commands of one session, the urgent ones first. Rejects when a result could not be stored; the engine retries. */
export function createCommandDispatcher(
  gateway: DispatchingGateway,
  route: CommandRoute,
): (key: SessionKey, signal: AbortSignal) => Promise<void> {
  return async (key, signal) => {
    while (!signal.aborted && !gateway.stopping.aborted) {
      const head = await gateway.store.run(() => claimCommand(key))
      if (head === undefined) return
      gateway.failpoint?.('command:claimed')
      const event = parseStoredEvent(head.payload)
      const status = gateway.accountDirectory.isRevoked(event) ? 'stopped' : attemptsExhausted(head) ? 'failed' : 'done'
      const result = await resultOf(gateway, route, key, { seq: head.seq, event }, status, signal)
      // The next start runs it again.
      if (result === undefined) return
      gateway.failpoint?.('command:done')
      await storeResult(gateway, route, key, head, event, result, status)
    }
  }
}

/** Undefined for a command that the stop of the gateway ended without an effect. */
async function resultOf(
  gateway: DispatchingGateway,
  route: CommandRoute,
  key: SessionKey,
  message: TypedMessage,
  status: TurnResult['status'],
  signal: AbortSignal,
): Promise<CommandResult | undefined> {
  if (status === 'stopped') return (await import('../access/revoked-access.ts')).revokedCommandReply(key, message.seq)
  return status === 'failed'
    ? textReply(deadText(message.event))
    : await runCommand(gateway, route, key, message, signal)
}

function* claimCommand(key: SessionKey) {
  const head = yield* findCommand(key)
  if (head !== undefined && !attemptsExhausted(head)) yield* claimEvent(head.seq, null)
  return head
}

/** The result of a command. A confirmation question sends its own message. */
interface CommandResult extends TransactionPart<string> {
  readonly isMessage?: boolean
  /** Emits the event of the command after its result is stored, so that a listener cannot delay `/stop`. */
  readonly emitEvent?: () => void
}

function deadText({ text }: MessageEvent): string {
  const command = text.trim().split(/\s/, 1)[0]?.slice(0, 40).toWellFormed() ?? ''
  return `\`${command}\` failed: the gateway ended each time while it ran. Send it again if it is still needed.`
}

/** Why the person may not use a command, in words for that person; undefined if it may run. */
export async function refusalOf(
  accounts: CommandAccounts,
  definition: Parameters<typeof refuseCommand>[0],
  { authority, source }: Pick<CommandContext, 'authority' | 'source'>,
): Promise<string | undefined> {
  if (authority.role === 'owner') return undefined
  const ceiling = await import('../access/command-ceiling.ts')
  return ceiling.refuseCommand(definition, authority, accounts.commandTiersOf(source), accounts.isShared(source))
}

/** A command with its definition and context. */
interface ResolvedCommand {
  readonly definition: CommandDefinition
  readonly event: MessageEvent
  readonly message: TypedMessage
  readonly context: CommandContext
}

function resolveCommand(
  { accountDirectory }: DispatchingGateway,
  { commands }: CommandRoute,
  sessionKey: SessionKey,
  message: TypedMessage,
  signal: AbortSignal,
): ResolvedCommand | undefined {
  const { event } = message
  const parsed = parseCommand(event)
  const definition = parsed === null ? undefined : commands.resolve(parsed.name)
  if (parsed === null || definition === undefined) return undefined
  const { source } = event
  const { name: rawCommand } = parsed
  const { argsBefore = '' } = definition
  const args = [argsBefore, parsed.args].join(' ').trim()
  const authority = event.authority ?? accountDirectory.authorityOf(source)
  return {
    definition,
    event,
    message,
    context: { source, authority, sessionKey, name: definition.name, args, argsBefore, rawCommand, message, signal },
  }
}

/** Runs a command, or asks for confirmation first. An error becomes the reply. */
async function runCommand(
  gateway: DispatchingGateway,
  route: CommandRoute,
  key: SessionKey,
  message: TypedMessage,
  signal: AbortSignal,
): Promise<CommandResult | undefined> {
  const { event } = message
  // What is no command is in this queue because it answers a question.
  if (parseCommand(event) === null && event.internal !== true) return route.approvals.questions.answerPlain(key, event)
  const typedCommand = resolveCommand(gateway, route, key, message, signal)
  if (typedCommand === undefined) return textReply('')
  const { name, rawCommand } = typedCommand.context
  const emitEvent = () => emitCommandEvent(route.events, route.events.emit, event, typedCommand.context)
  let hooksNotified = false
  gateway.log.info({ event: 'command.started', session: key, command: name }, 'command started')
  try {
    const refusal = await refusalOf(gateway.accountDirectory, typedCommand.definition, typedCommand.context)
    if (refusal !== undefined) return refusedResult(gateway, key, name, refusal)
    if (!route.runningTurns.isRunning(key) && !isConfirmed(event))
      route.pluginRegistries.gatewayHooks.commandReceived(typedCommand.context)
    const decision = wereHooksNotified(event)
      ? { command: typedCommand, hooksNotified: true }
      : await askHooks(gateway, route, key, typedCommand, signal)
    if ('reply' in decision) return textReply(decision.reply)
    hooksNotified = decision.hooksNotified
    const { definition, context } = decision.command
    // Hooks may have replaced the command.
    const rewrittenRefusal =
      decision.command === typedCommand ? undefined : await refusalOf(gateway.accountDirectory, definition, context)
    if (rewrittenRefusal !== undefined) return refusedResult(gateway, key, definition.name, rewrittenRefusal)
    // After the hooks, so that a denied command asks no question.
    const question = await askConfirmation(route.approvals, decision, key)
    if (question !== undefined) return question
    const reply = await definition.run(context)
    const result = typeof reply === 'string' ? textReply(reply) : reply
    return hooksNotified ? result : { ...result, emitEvent }
  } catch (error) {
    if (signal.aborted && isAbortError(error, signal)) return undefined
    gateway.log.error({ event: 'command.failed', session: key, command: name, err: error }, 'a command failed')
    const hint = error instanceof HermesError ? ` ${error.hint}` : ''
    const result = textReply(`\`/${rawCommand}\` failed: ${messageOf(error)}${hint}`)
    return hooksNotified ? result : { ...result, emitEvent }
  }
}

function isAbortError(error: unknown, { reason }: AbortSignal): boolean {
  return error === reason || (error instanceof Error && error.name === 'AbortError')
}

function refusedResult({ log }: Pick<Runtime, 'log'>, session: SessionKey, command: string, text: string) {
  log.info({ event: 'command.not_permitted', session, command }, 'a command is not permitted to this person')
  return textReply(text)
}

/** A command that may run. */
interface AllowedCommand {
  readonly command: ResolvedCommand
  readonly hooksNotified: boolean
}

type HookDecision = AllowedCommand | { readonly reply: string }

/** Asks the hooks for a decision. */
async function askHooks(
  gateway: DispatchingGateway,
  route: CommandRoute,
  key: SessionKey,
  typed: ResolvedCommand,
  signal: AbortSignal,
): Promise<HookDecision> {
  const { definition, event, message, context } = typed
  const eventContext = gateway.accountDirectory.emitsEvents(event.source)
    ? commandEventContext(event, context)
    : undefined
  const decision = await route.commandDecisions.decide(definition, { key, seq: message.seq }, eventContext)
  if (decision === undefined) return { command: typed, hooksNotified: false }
  emitCommandEvent(route.events, route.events.notifyListeners, event, context)
  switch (decision.kind) {
    case 'allow':
      return { command: typed, hooksNotified: true }
    case 'superseded':
      return {
        reply: `\`/${context.rawCommand}\` was still waiting for a hook when you sent the next command; it was not run.`,
      }
    case 'deny':
      return { reply: decision.message || `Command \`/${context.rawCommand}\` was blocked by a hook.` }
    case 'handled':
      return { reply: decision.message }
    case 'rewrite': {
      const text = `/${decision.command} ${decision.args ?? context.args}`.trim()
      const rewritten = resolveCommand(gateway, route, key, { ...typed.message, event: { ...event, text } }, signal)
      if (rewritten === undefined)
        return { reply: `A hook made \`/${decision.command}\` of this command, which does not exist.` }
      if (!gateway.accountDirectory.access({ source: rewritten.event.source }).allowed)
        return { reply: `You may not use \`/${decision.command}\`.` }
      return { command: rewritten, hooksNotified: true }
    }
  }
}

/** The confirmation of a destructive command; undefined where it may run. */
async function askConfirmation(
  approvals: CommandRoute['approvals'],
  { command, hooksNotified }: AllowedCommand,
  sessionKey: SessionKey,
): Promise<CommandResult | undefined> {
  const { name, destructiveEffect, confirmedBy: setting = 'destructive_slash_confirm' } = command.definition
  if (destructiveEffect === undefined) return undefined
  const event = hooksNotified
    ? { ...command.event, metadata: { ...command.event.metadata, [hooksNotifiedKey]: 'yes' } }
    : command.event
  const question = await approvals.confirmCommand({ name, destroys: destructiveEffect, setting, event, sessionKey })
  return question === undefined ? undefined : { ...question, isMessage: true }
}

/** Metadata of a confirmed command: hooks were notified when it was typed. */
const hooksNotifiedKey = 'told'

function wereHooksNotified(event: MessageEvent): boolean {
  return event.metadata?.[hooksNotifiedKey] !== undefined && isConfirmed(event)
}

function emitCommandEvent(
  { emitsMessageEvents }: CommandRoute['events'],
  emit: HookEventListener,
  event: MessageEvent,
  context: CommandContext,
): void {
  if (emitsMessageEvents(event.source)) emit(`command:${context.name}`, commandEventContext(event, context))
}

function commandEventContext({ source }: MessageEvent, { name, args, rawCommand }: CommandContext) {
  const { platform, userId = '' } = source
  return { platform, user_id: userId, command: name, args, raw_command: rawCommand, raw_args: args }
}

/** Stores the changes of the command, its reply and the end of its event in one transaction. */
async function storeResult(
  gateway: DispatchingGateway,
  route: CommandRoute,
  key: SessionKey,
  head: QueueHead,
  event: MessageEvent,
  result: CommandResult,
  status: TurnResult['status'],
): Promise<void> {
  const { seq, reason } = head
  const whole: TransactionPart<TurnResult> = {
    *write(now) {
      const text = yield* enlist(result, now)
      const { emitEvent } = result
      if (emitEvent !== undefined) yield* afterCommit(emitEvent)
      const ended = resultWithoutModel(status, text)
      if (status === 'failed') yield* markEventDead(seq, reason ?? 'the gateway ended while it ran', ended)
      else yield* finishEvent(seq, ended)
      yield* enlist(route.outbox.prepare(commandReply(event, key, seq, result.isMessage === true ? '' : text)), now)
      return ended
    },
    committed: (ended) => route.turnResults.publish(seq, ended),
    parts: [result],
  }
  await gateway.store.commit(whole, gateway.clock)
}

function commandReply(event: MessageEvent, sessionKey: SessionKey, seq: number, text: string): Reply {
  return {
    key: `command:${seq}`,
    target: targetOf(event.source),
    sessionKey,
    kind: 'notice',
    text,
    replyTo: event.messageId,
  }
}
