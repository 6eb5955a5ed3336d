/**
 * What hook handlers may request of a running gateway: send a message, start a background task.
 */

import type { HookGatewayServices, HookPayload } from '../../hooks/services.ts'
import { lowerRole } from '../../inbox/access.ts'
import { HermesError } from '../../lib/errors.ts'
import type { HomeLayout } from '../../lib/home.ts'
import { uuid7 } from '../../lib/ids.ts'
import type { Logger } from '../../lib/log.ts'
import type { Authority } from '../../message/authority.ts'
import { backgroundPlatform, type ChatType, type Target } from '../../message/source.ts'
import { findDeliveryState } from '../../outbox/delivery-state.ts'
import type { Outbox } from '../../outbox/outbox.ts'
import type { Store } from '../../store/store.ts'
import type { AccountDirectory } from '../access/account-directory.ts'
import type { ResolveTargetDeps } from '../delivery/resolve-target.ts'
import { hookMessagePrefix } from '../events/gateway-events.ts'
import type { BackgroundTasks } from '../tasks/background-tasks.ts'

export interface HookServicesDeps {
  readonly accountDirectory: Pick<AccountDirectory, 'list' | 'access' | 'authorityOf' | 'lookUpAuthority'>
  readonly adapter: ResolveTargetDeps['adapter']
  readonly home: HomeLayout
  /** Aborts when the gateway stops. */
  readonly stopping: AbortSignal
  readonly store: Store
  readonly outbox: Pick<Outbox, 'prepare'>
  readonly startTask: BackgroundTasks['start']
  /** Tasks that have not ended. */
  readonly openTasks: BackgroundTasks['open']
  readonly clock: () => number
  readonly log: Logger
}

/** Per hook: a loop in a handler must not become a bill. */
const maxOpenTasksPerHook = 50

/** Hooks are programs of the owner. */
const hookAuthority: Authority = { role: 'owner', platform: backgroundPlatform, chatType: 'dm' }

export function createHookServices(deps: HookServicesDeps): HookGatewayServices {
  /** Names of hooks whose tasks are not on disk yet, one entry per task. */
  const starting: string[] = []
  const openTaskCount = (name: string) =>
    deps.openTasks().filter(({ by }) => by === name).length + starting.filter((starter) => starter === name).length
  return {
    send: (hook, to, text) => sendMessage(deps, hook, to, text),
    async startAgent(hook, prompt, { deliver, maxIterations, route, role }, payload) {
      const target = await resolveTaskTarget(deps, deliver)
      const requester = { id: `hook:${hook}`, name: `hook ${hook}` }
      if (openTaskCount(requester.name) >= maxOpenTasksPerHook)
        throw new Error(`startAgent: this hook has ${maxOpenTasksPerHook} open tasks, the maximum`)
      starting.push(requester.name)
      try {
        return await deps.startTask({
          prompt,
          requester,
          authority: role === undefined ? await authorityOf(deps, payload) : { ...hookAuthority, role },
          deliver: target,
          maxIterations,
          route,
        })
      } finally {
        starting.splice(starting.indexOf(requester.name), 1)
      }
    },
  }
}

/**
 * Whose event a hook handles, so that a hook that passes on the text of a person gives this person no more rights. The payload
 * names no account: the lowest role of the person on the platform counts. A person without access is a guest.
 */
async function authorityOf(
  { accountDirectory }: HookServicesDeps,
  { platform, user_id: userId, chat_id, channel_id, chat_type: chatType, team_id: scopeId }: HookPayload,
): Promise<Authority> {
  if (typeof platform !== 'string' || typeof userId !== 'string') return hookAuthority
  const chatId = [chat_id, channel_id].find((id) => typeof id === 'string') ?? ''
  // Without its type, a chat may be either.
  const types = isChatType(chatType) ? [chatType] : (['dm', 'group'] as const)
  const sources = accountDirectory
    .list()
    .filter(({ platform: { name }, blocked }) => name === platform && blocked === undefined)
    .flatMap(({ account }) =>
      types.map((type) => ({
        platform,
        account,
        chatId,
        chatType: type,
        ...(userId === '' ? {} : { userId }),
        ...(typeof scopeId === 'string' && scopeId !== '' ? { scopeId } : {}),
      })),
    )
  const guest: Authority = { role: 'guest', platform, chatType: types[0], chatId, ...(userId === '' ? {} : { userId }) }
  let lowest: Authority | undefined
  for (const source of sources) {
    if (!accountDirectory.access({ source }).allowed) continue
    const requester = await accountDirectory.lookUpAuthority(source)
    if (lowest === undefined || lowerRole(requester.role, lowest.role) !== lowest.role) lowest = requester
  }
  return lowest ?? guest
}

const chatTypes: Readonly<Record<ChatType, true>> = { dm: true, group: true, channel: true, thread: true, forum: true }

function isChatType(value: unknown): value is ChatType {
  return typeof value === 'string' && Object.hasOwn(chatTypes, value)
}

/**
 * Where the answer of a task goes; null for nowhere. Left out: the first home channel, nowhere where none is. `origin`, the
 * chat that asked, means the same for who has none.
 */
async function resolveTaskTarget(deps: HookServicesDeps, text: string | undefined): Promise<Target | null> {
  const { resolveTarget } = await import('../delivery/resolve-target.ts')
  const word = text?.trim().toLowerCase() ?? 'home'
  const usesHome = word === 'home' || word === 'origin'
  const target = await resolveTarget(deps, usesHome ? 'home' : (text ?? ''), undefined, deps.stopping)
  if ('problem' in target) {
    if (usesHome) return null
    throw new HermesError('hooks/no-target', `(${target.problem})`)
  }
  return target.kind === 'local' ? null : target.target
}

async function sendMessage(deps: HookServicesDeps, hook: string, to: string, text: string): Promise<void> {
  const [{ resolveTarget }, { prepareDelivery }] = await Promise.all([
    import('../delivery/resolve-target.ts'),
    import('../delivery/deliver.ts'),
  ])
  const resolution = await resolveTarget(deps, to, undefined, deps.stopping)
  if ('problem' in resolution) throw new HermesError('hooks/no-target', `(${resolution.problem})`)
  const now = deps.clock()
  if (resolution.kind === 'local') {
    const { writeLocalOutput } = await import('../delivery/local-output.ts')
    const path = writeLocalOutput(deps.home, hook, text, now)
    return deps.log.info({ event: 'hook.message_saved', hook, path }, 'a hook wrote a message into a file')
  }
  const { target } = resolution
  const content = { key: `${hookMessagePrefix}${uuid7(now)}`, kind: 'notice' as const, text }
  await deps.store.commit(prepareDelivery(deps.outbox, target, content), deps.clock)
  const { state, error } = await deps.store.run(() => findDeliveryState(content.key))
  if (state === 'dropped') throw new HermesError('hooks/no-target', `(${error})`)
  const fields = { hook, platform: target.platform, chat: target.chatId }
  deps.log.info({ event: 'hook.message_sent', ...fields }, 'a hook sends a message')
}
