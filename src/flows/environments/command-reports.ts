/**
 * Messages about background commands that the agent has started with `notify_on_complete` or `watch_patterns`: their end, and
 * the texts in their output for which it watches. A command is on disk with the result of the call that has started it. Its
 * last message and the end of this record are one transaction, so that it comes once; what a crash has interrupted is
 * reported as lost. Loaded with the first such command.
 */
import { z } from 'zod'
import type { CommandWatches, WatchedNews } from '../../agent/environments/command-watches.ts'
import type { ProcessEntry } from '../../agent/environments/environment.ts'
import type { Engine } from '../../engine/engine.ts'
import type { Accounts } from '../../inbox/accounts.ts'
import { acceptEvent } from '../../inbox/queries.ts'
import { serializeEvent } from '../../inbox/stored-event.ts'
import { brand } from '../../lib/ids.ts'
import { asRecord, isRecord, parseJson } from '../../lib/json.ts'
import { beginningOf, endOf } from '../../lib/redact.ts'
import { sleep } from '../../lib/timers.ts'
import { stripTerminalEscapes } from '../../lib/visible-text.ts'
import type { Authority } from '../../message/authority.ts'
import type { CommandReport, MessageEvent } from '../../message/event.ts'
import type { SessionKey } from '../../message/ids.ts'
import type { SessionSource } from '../../message/source.ts'
import type { Outbox } from '../../outbox/outbox.ts'
import { changeSessionSetting, readSessionSettings, type SessionSettings } from '../../sessions/session-state.ts'
import type { Turn } from '../../sessions/turn.ts'
import type { Transaction, TransactionPart } from '../../store/query.ts'
import type { Runtime } from '../../store/runtime.ts'
import { createOutputWatch } from './output-watch.ts'

interface ReportingGateway extends Omit<Runtime, 'home' | 'stopping'> {
  readonly accountDirectory: Pick<Accounts, 'access' | 'isShared'>
  readonly settings: () => { readonly inbox: { readonly max_message_kb: number } }
}

/** The route of the reports. */
interface ReportRoute {
  readonly engine: Pick<Engine, 'wake'>
  readonly outbox: Pick<Outbox, 'withhold'>
}

/** A turn that a person follows in a chat. */
export type WatchingTurn = Pick<Turn, 'id' | 'sessionKey' | 'event' | 'authority'>

export interface CommandReports extends Pick<CommandWatches, 'claim'> {
  start(turn: WatchingTurn, callId: string, ...watched: Parameters<CommandWatches['start']>): StartedWatch
  /** Reports the commands of the last process as lost. Rejects `store/...`. */
  reportLost(keys: readonly string[]): Promise<void>
  /** The commands that end from now on are reported by the next start. */
  close(): void
}

type StartedWatch = Awaited<ReturnType<CommandWatches['start']>>

/** A command whose end is to be reported. */
interface StoredCommand {
  readonly id: string
  readonly command: string
  readonly source: SessionSource
  readonly authority: Authority
  readonly round: number
}

/** A command that runs in this process. */
interface Watch {
  readonly key: SessionKey
  /** Unique among all commands. */
  readonly name: string
  readonly stored: StoredCommand
  readonly entry: ProcessEntry
  onComplete: boolean
  /** Results that may tell the agent about the end. */
  claims: number
  /** A result has told it. */
  isTold: boolean
  /** The record is on disk. */
  isStored: boolean
  note: string
}

/** An agent that answers each message with another command must not become a bill. */
const maxRounds = 10
const maxReportedChars = 2_000
const storeAttempts = 5

export function createCommandReports(gateway: ReportingGateway, route: ReportRoute): CommandReports {
  const { store, clock, log, failpoint } = gateway
  const wake = (key: SessionKey) => route.engine.wake(key, 'turn')
  const watches = new WeakMap<ProcessEntry, Watch>()
  let isClosed = false

  function start(turn: WatchingTurn, callId: string, entry: ProcessEntry, wanted: WatchedNews): StartedWatch {
    const { event, sessionKey, authority } = turn
    const round = (event.subagentResult?.round ?? event.commandReport?.round ?? 0) + 1
    if (round > maxRounds) {
      const refusal = `No message will come: the last ${maxRounds} messages each led to another command, and none of the user came in between. Use process wait, or ask the user whether to go on.`
      return { refusal }
    }
    const command = beginningOf(route.outbox.withhold(entry.command), 300)
    const watch: Watch = {
      key: brand<SessionKey>(sessionKey),
      name: `${turn.id}:${callId}:${entry.id}`,
      stored: { id: entry.id, command, source: event.source, authority, round },
      entry,
      onComplete: wanted.onComplete,
      claims: 0,
      isTold: false,
      isStored: false,
      note: '',
    }
    watches.set(entry, watch)
    if (wanted.patterns.length > 0) watchOutput(watch, wanted.patterns)
    void entry.process.exited.then(() => settle(watch))
    const stored = () => {
      watch.isStored = true
      settle(watch)
    }
    const write: TransactionPart = {
      write: () => storeCommand(watch),
      committed: stored,
      // The command runs all the same.
      rolledBack: () => void attempt(watch, () => storeCommand(watch), stored),
    }
    return { write }
  }

  /** Reports the end when there is one, when the start is on disk, and when no result tells it. */
  function settle(watch: Watch): void {
    const exit = watch.entry.exit()
    if (exit === undefined || !watch.isStored || watch.claims > 0 || watch.isTold || isClosed) return
    watch.isTold = true
    const { exitCode } = exit
    const report = { kind: 'ended', exitCode, note: watch.note } as const
    void attempt(
      watch,
      function* (now) {
        if (!(yield* removeCommand(watch)) || !watch.onComplete) return
        const details = { output: watch.entry.log(), eventKey: endKey(watch), now }
        yield* acceptReport(gateway, route, watch, report, details)
      },
      () => wake(watch.key),
    )
  }

  function watchOutput(watch: Watch, patterns: readonly string[]): void {
    const read = createOutputWatch({
      patterns,
      clock,
      onMatch(line, number) {
        const report = { kind: 'matched', note: 'A line of its output has a text that you watch for.' } as const
        const eventKey = `command-match:${watch.name}:${number}`
        void attempt(
          watch,
          (now) => acceptReport(gateway, route, watch, report, { output: line, eventKey, now }),
          () => wake(watch.key),
        )
      },
      onOff() {
        watch.onComplete = true
        watch.note = 'Its output matched too often: the later matches were not reported.'
      },
    })
    read(watch.entry.log())
    watch.entry.process.onOutput((text) => {
      if (!isClosed && !watch.isTold) read(text)
    })
  }

  /** The end of the output is in the message only, so that a full disk must not lose it at once. */
  async function attempt(
    { name, key }: Watch,
    write: (now: number) => Transaction<void>,
    done: () => void,
  ): Promise<void> {
    for (let count = 1; ; count++) {
      try {
        failpoint?.('command-report:before-store')
        await store.run(() => write(clock()))
        failpoint?.('command-report:stored')
        log.info({ event: 'command.reported', session: key, command: name }, 'news of a background command')
        done()
        return
      } catch (error) {
        log.error(
          { event: 'command.report_failed', session: key, command: name, err: error },
          'news of a background command could not be stored',
        )
        if (count === storeAttempts || isClosed) return
        await sleep(count * 5_000)
      }
    }
  }

  const claim: CommandWatches['claim'] = async (entry) => {
    const watch = watches.get(entry)
    if (watch === undefined || watch.isTold) return undefined
    watch.claims += 1
    const release = () => {
      watch.claims -= 1
      settle(watch)
    }
    const told = (): TransactionPart => ({
      *write() {
        yield* removeCommand(watch)
      },
      committed() {
        watch.isTold = true
        release()
      },
      rolledBack: release,
    })
    return { told, release }
  }

  return {
    start,
    claim,
    async reportLost(keys) {
      for (const key of keys) {
        const lost = readCommands(await store.run(() => readSessionSettings(key)))
        for (const [name, command] of Object.entries(lost)) {
          const owner = { key: brand<SessionKey>(key), name, stored: command }
          await store.run(function* () {
            if (yield* removeCommand(owner))
              yield* acceptReport(gateway, route, owner, lostReport, { eventKey: endKey(owner), now: clock() })
          })
          log.warn({ event: 'command.lost', session: key, command: name }, 'a background command was lost')
          wake(owner.key)
        }
      }
    },
    close() {
      isClosed = true
    },
  }
}

/** A person whose access was taken away gets no answer, and none is paid for. */
function* acceptReport(
  { accountDirectory, settings }: ReportingGateway,
  { outbox }: ReportRoute,
  { key, stored: { id, command, source, authority, round } }: Pick<Watch, 'key' | 'stored'>,
  report: Pick<CommandReport, 'kind' | 'exitCode' | 'note'>,
  { output = '', eventKey, now }: { readonly output?: string; readonly eventKey: string; readonly now: number },
): Transaction<void> {
  if (!accountDirectory.access({ source }).allowed) return
  const event: MessageEvent = {
    source: accountDirectory.isShared(source) ? { ...source, userName: 'background command' } : source,
    text: tailOf(outbox.withhold(stripTerminalEscapes(output))),
    messageType: 'text',
    timestamp: now,
    internal: true,
    authority,
    allowGatewayControl: false,
    commandReport: { id, command, round, ...report },
  }
  const { platform, account, chatId } = source
  const payload = serializeEvent(event, settings().inbox)
  const row = { sessionKey: key, lane: 'turn' as const, kind: event.messageType, platform, account, chatId, payload }
  yield* acceptEvent(row, [eventKey], now)
}

const endKey = ({ name }: Owner) => `command-end:${name}`

const lostReport = {
  kind: 'lost',
  note: 'The gateway ended while it ran: its output and its exit code are lost, and it may still be running. Find out before you start it again.',
} as const

const hasTexts = (value: unknown, ...names: readonly string[]) =>
  isRecord(value) && names.every((name) => typeof value[name] === 'string')
const storedCommand = z.object({
  id: z.string(),
  command: z.string(),
  source: z.custom<SessionSource>((value) => hasTexts(value, 'platform', 'account', 'chatId', 'chatType')),
  authority: z.custom<Authority>((value) => hasTexts(value, 'role', 'platform', 'chatType')),
  round: z.number(),
})

/** Without records that cannot be read: no one could be told about their commands. */
function readCommands({ commands = '{}' }: SessionSettings): Readonly<Record<string, StoredCommand>> {
  const entriesById = Object.entries(asRecord(parseJson(commands)))
  return Object.fromEntries(
    entriesById.flatMap(([name, value]): [string, StoredCommand][] => {
      const { data } = storedCommand.safeParse(value)
      return data === undefined ? [] : [[name, data]]
    }),
  )
}

type Owner = Pick<Watch, 'key' | 'name'>

function* storeCommand({ key, name, stored }: Owner & Pick<Watch, 'stored'>): Transaction<void> {
  const commands = readCommands(yield* readSessionSettings(key))
  yield* changeSessionSetting(key, 'commands', JSON.stringify({ ...commands, [name]: stored }))
}

/** False when its end was reported already. */
function* removeCommand({ key, name }: Owner): Transaction<boolean> {
  const { [name]: stored, ...others } = readCommands(yield* readSessionSettings(key))
  if (stored === undefined) return false
  yield* changeSessionSetting(key, 'commands', Object.keys(others).length === 0 ? null : JSON.stringify(others))
  return true
}

function tailOf(text: string): string {
  return text.length <= maxReportedChars ? text : `[...]\n${endOf(text, maxReportedChars)}`
}
