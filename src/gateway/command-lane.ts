/**
 * The control lane: commands act at once, beside a running turn, in the order they came.
 */
import { isConfirmed, type SlashConfirm } from '../approvals/slash-confirm.ts'
import type { CommandContext, CommandDefinition, CommandEnding, CommandServices } from '../commands/command.ts'
import type { CommandRegistry } from '../commands/registry.ts'
import type { Outcomes } from '../inbox/outcomes.ts'
import { claimEvent, finishEvent, headOf, type InboxHead, parkEvent } from '../inbox/queries.ts'
import { storedEvent } from '../inbox/stored-event.ts'
import { HermesError, messageOf } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import { type MessageEvent, parseCommand } from '../message/event.ts'
import type { EventListener } from '../message/hook-events.ts'
import type { SessionKey } from '../message/ids.ts'
import { targetOf } from '../message/source.ts'
import type { Outbox, PreparedReply, Reply } from '../outbox/outbox.ts'
import type { TurnOutcome } from '../platforms/adapter.ts'
import type { Store } from '../store/store.ts'
import type { CommandDecisions } from './command-decision.ts'

export interface CommandLaneDeps {
  readonly store: Store
  readonly outbox: Outbox
  readonly outcomes: Outcomes
  readonly commands: Pick<CommandRegistry, 'resolve'>
  readonly services: CommandServices
  readonly emit: EventListener
  /** As `emit`, for those within the process alone: hooks that were asked have heard of it. */
  readonly tell: EventListener
  readonly decisions: CommandDecisions
  /** Plugins hear of a command before hooks decide about it. Returns at once. */
  readonly watchCommand?: (command: CommandContext) => void
  /** Whether this person may talk to the agent here. */
  mayWrite(event: MessageEvent): boolean
  readonly log: Logger
  readonly clock: () => number
  /** The question that comes before a command which ends something. */
  readonly confirm: SlashConfirm
  /** Whether this platform has its gateway events emitted. */
  watched(event: MessageEvent): boolean
  /** The daemon is stopping: what runs may end, what waits goes on at the next start. */
  draining(): boolean
  /** Named points for crash tests; does nothing in production. */
  probe(point: string): void
}

/** Claims of one command before it is set aside. */
const maxTries = 3

/** Works through the waiting commands of one session. Throws what could not be stored: it is tried again. */
export function createCommandLane(deps: CommandLaneDeps): (key: SessionKey, signal: AbortSignal) => Promise<void> {
  return async (key, signal) => {
    while (!signal.aborted && !deps.draining()) {
      const head = await deps.store.run(() => claimCommand(key))
      if (head === undefined) return
      deps.probe('command:claimed')
      const event = storedEvent(head.payload)
      const parked = head.tries >= maxTries
      const ending = parked ? reply('') : await run(deps, key, event, signal)
      deps.probe('command:done')
      await settle(deps, key, head, event, ending, parked)
    }
  }
}

function* claimCommand(key: SessionKey) {
  const head = yield* headOf(key, 'control')
  if (head !== undefined && head.tries < maxTries) yield* claimEvent(head, null)
  return head
}

/** How a command ends. A question that was asked first is a message already. */
interface Ending extends CommandEnding {
  readonly isMessage?: boolean
  /** Tells of the command, once what it did is on disk: no watcher can hold back `/stop`. */
  readonly tell?: () => void
}

function reply(text: string): Ending {
  return {
    // biome-ignore lint/correctness/useYield: a use case without a query
    *write() {
      return text
    },
    committed: () => undefined,
    abandoned: () => undefined,
  }
}

/** What is to be run. */
interface Called {
  readonly definition: CommandDefinition
  readonly event: MessageEvent
  readonly context: CommandContext
}

function calledBy(
  { commands }: CommandLaneDeps,
  sessionKey: SessionKey,
  event: MessageEvent,
  signal: AbortSignal,
): Called | undefined {
  const parsed = parseCommand(event)
  const definition = parsed === null ? undefined : commands.resolve(parsed.name)
  if (parsed === null || definition === undefined) return undefined
  const { source } = event
  const { name: typed, args } = parsed
  return { definition, event, context: { source, sessionKey, name: definition.name, args, typed, signal } }
}

/** Runs a command, or asks first; what it throws becomes the reply. */
async function run(deps: CommandLaneDeps, key: SessionKey, event: MessageEvent, signal: AbortSignal): Promise<Ending> {
  const typed = calledBy(deps, key, event, signal)
  if (typed === undefined) return reply('')
  const { name, typed: word } = typed.context
  const tell = () => announce(deps.emit, deps, event, typed.context)
  let told = false
  deps.log.info({ session: key, command: name }, 'command')
  try {
    if (!isConfirmed(event)) deps.watchCommand?.(typed.context)
    const decided = wasTold(event) ? { called: typed, told: true } : await decide(deps, key, typed, signal)
    if ('reply' in decided) return reply(decided.reply)
    told = decided.told
    const { definition, context } = decided.called
    // After the hooks: nobody is asked about a command that one of them denies.
    const question = await asksFirst(deps, decided, key)
    if (question !== undefined) return question
    const result = await definition.run(context, deps.services)
    const ending = typeof result === 'string' ? reply(result) : result
    return told ? ending : { ...ending, tell }
  } catch (error) {
    deps.log.error({ session: key, command: name, error }, `a command failed: ${messageOf(error)}`)
    const hint = error instanceof HermesError ? ` ${error.hint}` : ''
    const ending = reply(`\`/${word}\` failed: ${messageOf(error)}${hint}`)
    return told ? ending : { ...ending, tell }
  }
}

/** What may run. `told`: hooks have heard of it. */
interface Passed {
  readonly called: Called
  readonly told: boolean
}

type Decided = Passed | { readonly reply: string }

/** Asks the hooks where they may have a say. */
async function decide(deps: CommandLaneDeps, key: SessionKey, typed: Called, signal: AbortSignal): Promise<Decided> {
  const { definition, event, context } = typed
  const told = deps.watched(event) ? commandEvent(event, context) : undefined
  const verdict = await deps.decisions.decide(definition, key, told)
  if (verdict === undefined) return { called: typed, told: false }
  announce(deps.tell, deps, event, context)
  switch (verdict.kind) {
    case 'allow':
      return { called: typed, told: true }
    case 'overtaken':
      return {
        reply: `\`/${context.typed}\` was still waiting for a hook when you sent the next command; it was not run.`,
      }
    case 'deny':
      return { reply: verdict.message || `Command \`/${context.typed}\` was blocked by a hook.` }
    case 'handled':
      return { reply: verdict.message }
    case 'rewrite': {
      const text = `/${verdict.command} ${verdict.args ?? context.args}`.trim()
      const rewritten = calledBy(deps, key, { ...event, text }, signal)
      if (rewritten === undefined)
        return { reply: `A hook made \`/${verdict.command}\` of this command, which does not exist.` }
      if (!deps.mayWrite(rewritten.event)) return { reply: `You may not use \`/${verdict.command}\`.` }
      return { called: rewritten, told: true }
    }
  }
}

/** The question that comes before a command which ends something; undefined where it may run. */
async function asksFirst(
  { confirm }: CommandLaneDeps,
  { called, told }: Passed,
  sessionKey: SessionKey,
): Promise<Ending | undefined> {
  const { name, destroys } = called.definition
  if (destroys === undefined) return undefined
  const event = told ? { ...called.event, metadata: { ...called.event.metadata, [toldMark]: 'yes' } } : called.event
  const question = await confirm({ name, destroys, event, sessionKey })
  return question === undefined ? undefined : { ...question, isMessage: true }
}

/** On a command that goes on once a person has said yes: hooks heard of it when it was typed. */
const toldMark = 'told'

function wasTold(event: MessageEvent): boolean {
  return isConfirmed(event) && event.metadata?.[toldMark] !== undefined
}

function announce(tell: EventListener, deps: CommandLaneDeps, event: MessageEvent, context: CommandContext): void {
  if (deps.watched(event)) tell(`command:${context.name}`, commandEvent(event, context))
}

function commandEvent({ source }: MessageEvent, { name, args, typed }: CommandContext) {
  const { platform, userId = '' } = source
  return { platform, user_id: userId, command: name, args, raw_command: typed, raw_args: args }
}

/** What the command stores, its reply and the end of its event reach the disk together. */
async function settle(
  deps: CommandLaneDeps,
  key: SessionKey,
  head: InboxHead,
  event: MessageEvent,
  ending: Ending,
  parked: boolean,
): Promise<void> {
  const now = deps.clock()
  let message: PreparedReply | undefined
  try {
    const outcome = await deps.store.run(function* () {
      message?.abandoned()
      const text = yield* ending.write(now)
      const ended = outcomeOf(text, parked)
      if (parked) yield* parkEvent(head.seq, head.reason ?? 'the gateway ended while it ran', ended)
      else yield* finishEvent(head.seq, ended)
      message = deps.outbox.prepare(messageTo(event, key, head.seq, ending.isMessage === true ? '' : text))
      yield* message.write(now)
      return ended
    })
    ending.committed()
    ending.tell?.()
    message?.committed()
    deps.outcomes.settle(head.seq, outcome)
  } catch (error) {
    ending.abandoned()
    message?.abandoned()
    throw error
  }
}

function outcomeOf(text: string, parked: boolean): TurnOutcome {
  const status = parked ? 'failed' : 'done'
  return { status, text, sessionId: '', model: '', usage: { inputTokens: 0, outputTokens: 0 } }
}

function messageTo(event: MessageEvent, sessionKey: SessionKey, seq: number, text: string): Reply {
  return {
    key: `command:${seq}`,
    target: targetOf(event.source),
    sessionKey,
    kind: 'notice',
    text,
    ...(event.messageId === undefined ? {} : { replyTo: event.messageId }),
  }
}
