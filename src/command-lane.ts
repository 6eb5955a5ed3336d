/**
 * The control lane: commands act at once, beside a running turn, in the order they came.
 */
import type { CommandContext, CommandServices } from './commands/command.ts'
import type { CommandRegistry } from './commands/registry.ts'
import type { Outcomes } from './inbox/outcomes.ts'
import { claimEvent, finishEvent, headOf, type InboxHead, parkEvent } from './inbox/queries.ts'
import { storedEvent } from './inbox/stored-event.ts'
import { HermesError, messageOf } from './lib/errors.ts'
import type { Logger } from './lib/log.ts'
import { type MessageEvent, parseCommand } from './message/event.ts'
import type { EventListener } from './message/hook-events.ts'
import type { SessionKey } from './message/ids.ts'
import { targetOf } from './message/source.ts'
import type { Outbox } from './outbox/outbox.ts'
import type { TurnOutcome } from './platforms/adapter.ts'
import type { Store } from './store/store.ts'

export interface CommandLaneDeps {
  readonly store: Store
  readonly outbox: Outbox
  readonly outcomes: Outcomes
  readonly commands: CommandRegistry
  readonly services: CommandServices
  readonly emit: EventListener
  readonly log: Logger
  readonly clock: () => number
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
      const text = parked ? '' : await run(deps, key, event, signal)
      deps.probe('command:done')
      await settle(deps, key, head, event, text, parked)
    }
  }
}

function* claimCommand(key: SessionKey) {
  const head = yield* headOf(key, 'control')
  if (head !== undefined && head.tries < maxTries) yield* claimEvent(head, null)
  return head
}

/** Runs a command; what it throws becomes the reply. */
async function run(deps: CommandLaneDeps, key: SessionKey, event: MessageEvent, signal: AbortSignal): Promise<string> {
  const parsed = parseCommand(event)
  const definition = parsed === null ? undefined : deps.commands.resolve(parsed.name)
  if (parsed === null || definition === undefined) return ''
  const { source } = event
  const context: CommandContext = {
    source,
    sessionKey: key,
    name: definition.name,
    args: parsed.args,
    typed: parsed.name,
    signal,
  }
  deps.log.info({ session: key, command: definition.name }, 'command')
  try {
    const reply = await definition.run(context, deps.services)
    announce(deps, event, context)
    return reply
  } catch (error) {
    deps.log.error({ session: key, command: definition.name, error }, `a command failed: ${messageOf(error)}`)
    const hint = error instanceof HermesError ? ` ${error.hint}` : ''
    return `\`/${parsed.name}\` failed: ${messageOf(error)}${hint}`
  }
}

/** Commands that act at once are observed after they took effect: no watcher can hold back `/stop`. */
function announce(deps: CommandLaneDeps, event: MessageEvent, { name, args, typed }: CommandContext): void {
  if (!deps.watched(event)) return
  const { platform, userId = '' } = event.source
  deps.emit(`command:${name}`, { platform, user_id: userId, command: name, args, raw_command: typed, raw_args: args })
}

async function settle(
  deps: CommandLaneDeps,
  key: SessionKey,
  head: InboxHead,
  event: MessageEvent,
  text: string,
  parked: boolean,
): Promise<void> {
  const reply = deps.outbox.prepare({
    key: `command:${head.seq}`,
    target: targetOf(event.source),
    sessionKey: key,
    kind: 'notice',
    text,
    ...(event.messageId === undefined ? {} : { replyTo: event.messageId }),
  })
  const status = parked ? 'failed' : 'done'
  const outcome: TurnOutcome = { status, text, sessionId: '', model: '', usage: { inputTokens: 0, outputTokens: 0 } }
  const now = deps.clock()
  try {
    await deps.store.run(function* () {
      if (parked) yield* parkEvent(head.seq, head.reason ?? 'the gateway ended while it ran', outcome)
      else yield* finishEvent(head.seq, outcome)
      yield* reply.write(now)
    })
  } catch (error) {
    reply.abandoned()
    throw error
  }
  reply.committed()
  deps.outcomes.settle(head.seq, outcome)
}
