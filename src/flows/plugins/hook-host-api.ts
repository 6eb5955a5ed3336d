/**
 * What hook handlers may request of a running gateway: send a message, start a background task.
 */

import type { HookGatewayServices, HookPayload } from '../../hooks/services.ts'
import { lowerRole } from '../../inbox/access.ts'
import { HermesError } from '../../lib/errors.ts'
import { uuid7 } from '../../lib/ids.ts'
import type { Authority } from '../../message/authority.ts'
import { backgroundPlatform, type ChatType, type Target } from '../../message/source.ts'
import { findDeliveryState } from '../../outbox/delivery-state.ts'
import type { Outbox } from '../../outbox/outbox.ts'
import type { Runtime } from '../../store/runtime.ts'
import type { AccountDirectory } from '../access/account-directory.ts'
import type { Destinations } from '../delivery/resolve-target.ts'
import { hookMessagePrefix } from '../events/gateway-events.ts'
import type { BackgroundTasks } from '../tasks/background-tasks.ts'

interface HookGateway extends Destinations, Pick<Runtime, 'home' | 'stopping'> {
  readonly accountDirectory: Destinations['accountDirectory'] & Pick<AccountDirectory, 'lookUpAuthority'>
}

/** Per hook: a loop in a handler must not become a bill. */
const maxOpenTasksPerHook = 50

/** Hooks are programs of the owner. */
const hookAuthority: Authority = { role: 'owner', platform: backgroundPlatform, chatType: 'dm' }

/** @param tasks called when a handler starts one */
export function createHookServices(
  gateway: HookGateway,
  outbox: Pick<Outbox, 'prepare'>,
  tasks: () => Pick<BackgroundTasks, 'start' | 'open'>,
): HookGatewayServices {
  /** Names of hooks whose tasks are not on disk yet, one entry per task. */
  const starting: string[] = []
  const openTaskCount = (name: string) =>
    tasks()
      .open()
      .filter(({ by }) => by === name).length + starting.filter((starter) => starter === name).length
  return {
    send: (hook, to, text) => sendMessage(gateway, outbox, hook, to, text),
    async startAgent(hook, prompt, { deliver, maxIterations, route, role }, payload) {
      const target = await resolveTaskTarget(gateway, deliver)
      const requester = { id: `hook:${hook}`, name: `hook ${hook}` }
      if (openTaskCount(requester.name) >= maxOpenTasksPerHook)
        throw new Error(`startAgent: this hook has ${maxOpenTasksPerHook} open tasks, the maximum`)
      starting.push(requester.name)
      try {
        return await tasks().start({
          prompt,
          requester,
          authority: role === undefined ? await authorityOf(gateway, payload) : { ...hookAuthority, role },
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
 * Remembers whose event a hook handles, so that a hook that passes on the text of a person gives this person no more rights. The payload
 * names no account: the lowest role of the person on the platform counts. A person without access is a guest.
 */
async function authorityOf(
  { accountDirectory }: HookGateway,
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
async function resolveTaskTarget(gateway: HookGateway, text: string | undefined): Promise<Target | null> {
  const { resolveTarget } = await import('../delivery/resolve-target.ts')
  const word = text?.trim().toLowerCase() ?? 'home'
  const usesHome = word === 'home' || word === 'origin'
  const target = await resolveTarget(gateway, usesHome ? 'home' : (text ?? ''), undefined, gateway.stopping)
  if ('problem' in target) {
    if (usesHome) return null
    throw new HermesError('hooks/no-target', `(${target.problem})`)
  }
  return target.kind === 'local' ? null : target.target
}

async function sendMessage(
  gateway: HookGateway,
  outbox: Pick<Outbox, 'prepare'>,
  hook: string,
  to: string,
  text: string,
): Promise<void> {
  const [{ resolveTarget }, { prepareDelivery }] = await Promise.all([
    import('../delivery/resolve-target.ts'),
    import('../delivery/deliver.ts'),
  ])
  const resolution = await resolveTarget(gateway, to, undefined, gateway.stopping)
  if ('problem' in resolution) throw new HermesError('hooks/no-target', `(${resolution.problem})`)
  const now = gateway.clock()
  if (resolution.kind === 'local') {
    const { writeLocalOutput } = await import('../delivery/local-output.ts')
    const path = writeLocalOutput(gateway.home, hook, text, now)
    return gateway.log.info({ event: 'hook.message_saved', hook, path }, 'a hook wrote a message into a file')
  }
  const { target } = resolution
  const content = { key: `${hookMessagePrefix}${uuid7(now)}`, kind: 'notice' as const, text }
  await gateway.store.commit(prepareDelivery(outbox, target, content), gateway.clock)
  const { state, error } = await gateway.store.run(() => findDeliveryState(content.key))
  if (state === 'dropped') throw new HermesError('hooks/no-target', `(${error})`)
  const fields = { hook, platform: target.platform, chat: target.chatId }
  gateway.log.info({ event: 'hook.message_sent', ...fields }, 'a hook sends a message')
}
