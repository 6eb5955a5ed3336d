/**
 * The hooks that stand in the configuration: programs to run and addresses to tell (contract §2.7).
 */
import { basename } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { messageOf } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import { answerInDoubt, createCommandHook } from './command-hook.ts'
import { type CommandHook, commandHooksIn, type HooksConfig, type Webhook } from './config.ts'
import { isAllowed, readConsents } from './consent.ts'
import { basicsOf } from './groups.ts'
import { createListener, type Listener } from './listener.ts'
import type { Subscription } from './matching.ts'
import { createProgramCheck, programFiles } from './program-file.ts'
import { type HookReport, noCounts } from './report.ts'
import { shellWords } from './shell-words.ts'
import { createWebhook, type WebhookDeps } from './webhook.ts'

export interface ConfigHooksDeps extends Pick<WebhookDeps, 'fetch' | 'newId' | 'clock'> {
  readonly home: string
  readonly settings: () => HooksConfig
  readonly environment: () => Readonly<Record<string, string>>
  /** Runs every program, whether it was accepted or not. */
  readonly acceptsAll: () => boolean
  doubtAbout(event: string): string | undefined
  subscriptionsOf(events: readonly string[]): string[]
  isPaused(id: string): boolean
  onChange(): void
  readonly log: Logger
}

export interface ConfigHooks {
  /** Reads the configuration anew; hooks that stand there as before keep their line and their counts. Never throws. */
  refresh(): void
  subscriptions(): readonly Subscription<Listener>[]
  find(name: string): Listener | undefined
  reports(): HookReport[]
  end(): void
}

type Wanted =
  | { readonly kind: 'command'; readonly events: readonly string[]; readonly spec: CommandHook }
  | { readonly kind: 'webhook'; readonly events: readonly string[]; readonly spec: Webhook }

/** What was accepted: fingerprints of the program's files, or whatever they hold. */
type Grant = 'any' | readonly string[]

interface Entry {
  readonly wanted: Wanted
  /** Undefined where nobody has accepted it. */
  readonly grant: Grant | undefined
  readonly listener: Listener | undefined
  /** Why it may not run right now; '' where it may. */
  doubt(): string
}

/** Attempts and what they need beside the time of the address itself. */
const webhookSlackMs = 1_000

export function createConfigHooks(deps: ConfigHooksDeps): ConfigHooks {
  const { home, settings, log, clock } = deps
  let entries = new Map<string, Entry>()

  function environment(): Readonly<Record<string, string>> {
    const all = deps.environment()
    return { ...(settings().env === 'declared' ? basicsOf(all) : all), HERMES_HOME: home }
  }

  function wantedHooks(): Map<string, Wanted> {
    const found = new Map<string, Wanted>()
    // Programs and addresses are left out where an operator wants to see the gateway without them.
    if (/^(1|true|yes|on)$/i.test(deps.environment()['HERMES_SAFE_MODE'] ?? '')) return found
    const add = (name: string, wanted: Wanted) => {
      let id = name
      for (let number = 2; found.has(id); number++) id = `${name}-${number}`
      found.set(id, wanted)
    }
    for (const { event, hook } of commandHooksIn(settings())) {
      const program = basename(shellWords(hook.command)?.[0] ?? '')
      add(`${event}/${program}`, { kind: 'command', events: [event], spec: hook })
    }
    for (const spec of settings().outbound) {
      add(`webhook/${spec.name ?? new URL(spec.url).host}`, { kind: 'webhook', events: spec.events, spec })
    }
    return found
  }

  function grantOf(wanted: Wanted): Grant | undefined {
    if (wanted.kind === 'webhook' || deps.acceptsAll()) return 'any'
    const { command } = wanted.spec
    const [event = ''] = wanted.events
    try {
      const found = readConsents(home).filter((one) => isAllowed({ event, command }, [one]))
      if (found.length === 0) return undefined
      const programs = found.flatMap(({ program }) => program ?? [])
      return programs.length < found.length ? 'any' : programs
    } catch (error) {
      log.warn({ error }, `which programs were accepted cannot be read, so none runs: ${messageOf(error)}`)
      return undefined
    }
  }

  function doubtOf(id: string, { kind, spec }: Wanted, grant: Grant): () => string {
    if (kind === 'webhook' || grant === 'any') return () => ''
    const isAccepted = createProgramCheck(programFiles(spec.command, home), grant)
    return () => (isAccepted() ? '' : `its program has changed since it was accepted: hermes hooks accept ${id}`)
  }

  function listenerOf(id: string, wanted: Wanted, doubt: () => string): Listener {
    const listener = createListener({
      id,
      ...(wanted.kind === 'command'
        ? {
            run: createCommandHook(wanted.spec, { environment, cwd: home, doubt }),
            inDoubt: (context: unknown) => answerInDoubt(wanted.spec, context),
          }
        : { run: createWebhook(wanted.spec, { ...deps, environment: deps.environment, cwd: home }) }),
      deadlineMs: () => deadlineOf(wanted),
      wantsToHear: () => true,
      clock,
      log: log.child({ hook: id }),
    })
    if (deps.isPaused(id)) listener.pause()
    return listener
  }

  function entryOf(id: string, wanted: Wanted, before: Entry | undefined): Entry {
    const isSame = isDeepStrictEqual(before?.wanted, wanted)
    const grant = grantOf(wanted)
    if (before !== undefined && isSame && isDeepStrictEqual(before.grant, grant)) return before
    before?.listener?.end()
    for (const event of wanted.events) {
      const doubt = deps.doubtAbout(event)
      if (doubt !== undefined && !isSame) log.warn({ hook: id }, `hooks in config.yaml: ${doubt}`)
    }
    if (grant !== undefined) {
      const doubt = doubtOf(id, wanted, grant)
      if (doubt() !== '') log.warn({ hook: id }, `${id} does not run: ${doubt()}`)
      return { wanted, grant, doubt, listener: listenerOf(id, wanted, doubt) }
    }
    log.warn({ hook: id }, `${id} does not run: nobody has accepted it; \`hermes hooks accept ${id}\` does`)
    return { wanted, grant, listener: undefined, doubt: () => `hermes hooks accept ${id}` }
  }

  return {
    refresh() {
      const before = entries
      entries = new Map([...wantedHooks()].map(([id, wanted]) => [id, entryOf(id, wanted, before.get(id))]))
      for (const [id, { listener }] of before) if (!entries.has(id)) listener?.end()
      deps.onChange()
    },
    subscriptions: () =>
      [...entries.values()].flatMap(({ wanted, listener }) =>
        listener === undefined ? [] : [{ listener, events: deps.subscriptionsOf(wanted.events) }],
      ),
    find: (name) => entries.get(name)?.listener,
    reports: () => [...entries].map(([id, entry]) => reportOf(id, entry)),
    end() {
      for (const { listener } of entries.values()) listener?.end()
    },
  }
}

function deadlineOf({ kind, spec }: Wanted): number {
  return kind === 'command' ? spec.timeout * 1_000 : spec.timeout * 2_000 + webhookSlackMs
}

/** Commands and addresses may hold secrets: of an address only its host is shown. */
function reportOf(name: string, { wanted, listener, doubt }: Entry): HookReport {
  const { kind, events, spec } = wanted
  const reason = doubt()
  const notAccepted = { state: 'not-accepted' as const, reason }
  return {
    name,
    kind,
    description: kind === 'command' ? spec.command : `POST ${new URL(spec.url).origin}`,
    events,
    ...(reason === '' && listener !== undefined ? listener.state() : notAccepted),
    problem: '',
    language: '',
    origin: 'config',
    folder: '',
    priority: 0,
    timeoutMs: deadlineOf(wanted),
    ...(listener?.counts() ?? noCounts),
  }
}
