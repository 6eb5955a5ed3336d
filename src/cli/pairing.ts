/**
 * `hermes pairing`: through the running daemon, so that it takes effect at once; without one, in the files, under the lock of the
 * home.
 */
import { callRoute } from '../api/client.ts'
import { approvePairing, clearPairing, denyPairing, revokePairing } from '../api/routes/pairing.ts'
import {
  type ApprovedPerson,
  createPairingAdmin,
  denialEntry,
  type PairingAdmin,
} from '../flows/access/pairing-admin.ts'
import { addDenial } from '../inbox/trace.ts'
import { formatDuration } from '../lib/duration.ts'
import { HermesError } from '../lib/errors.ts'
import { silentLog } from '../lib/log.ts'
import { toSingleLine } from '../lib/visible-text.ts'
import { damageWarnings } from '../pairing/pairing-files.ts'
import { platformAccounts } from '../platforms/accounts.ts'
import type { CliContext, JsonOption } from './kit/context.ts'
import { type Daemon, findRunningDaemon, warnVersionMismatch } from './kit/daemon.ts'
import { createDisplay, reportEmptyList } from './kit/display.ts'
import { lockHomeForCommand } from './kit/home-lock.ts'
import { updateLockedStore } from './kit/home-store.ts'
import { readSettings } from './kit/settings.ts'
import { readPairingList } from './shared/access-report.ts'

export async function pairingList(context: CliContext, { json }: JsonOption): Promise<void> {
  const { pending, approved, locked, damaged } = readPairingList(context)
  const display = createDisplay(context.output, context.environment)
  if (json) return display.json({ pending, approved, locked, damaged })
  const now = Date.now()
  for (const line of damageWarnings(damaged)) context.errors.write(`hermes: ${toSingleLine(line)}\n`)
  for (const { platform, until } of locked) {
    const where = platform === '*' ? 'every platform' : platform
    context.errors.write(
      `hermes: after wrong codes, ${toSingleLine(where)} accepts none for ${formatDuration(until - now)}\n`,
    )
  }
  if (pending.length + approved.length === 0)
    return reportEmptyList(context, 'There are no requests, and no approved people.')
  display.table(
    ['STATE', 'PLATFORM', 'USER ID', 'NAME', 'SINCE', 'REQUEST'],
    [
      ...pending.map((request) => ({ ...request, state: 'waits', since: request.createdAt })),
      ...approved.map((person) => ({ ...person, state: 'approved', since: person.approvedAt, requestId: '' })),
    ].map(({ state, platform, userId, userName, since, requestId }) =>
      [state, platform, userId, userName, display.formatTime(since), requestId].map(toSingleLine),
    ),
  )
  if (!display.isTerminal) return
  display.line()
  display.line('`hermes pairing approve <platform> <code>` gives access; the person has the code.')
}

/** Throws `pairing/…`, `home/locked`. */
export async function pairingApprove(
  context: CliContext,
  platform: string,
  code: string,
  { owner, json }: JsonOption & { readonly owner: boolean },
): Promise<void> {
  const name = platform.toLowerCase()
  const role = owner ? 'owner' : 'member'
  const body = { platform: name, code, role } as const
  const approved = await run<ApprovedPerson>(
    context,
    body,
    (daemon) => callRoute(daemon, approvePairing, { body }),
    (admin) => admin.approve(name, code, role),
  )
  const display = createDisplay(context.output, context.environment)
  if (json) return display.json(approved)
  if (approved.problem !== undefined) context.errors.write(`hermes: ${toSingleLine(approved.problem)}\n`)
  const who = approved.user_name === '' ? approved.user_id : `${approved.user_name} (${approved.user_id})`
  context.output.write(
    `Approved: ${toSingleLine(who)} has access on ${name}, as ${approved.role === 'owner' ? 'an owner' : 'a member'}.\n`,
  )
  if (approved.owners_named !== undefined)
    context.output.write(
      `Named as owners in roles.owners of config.yaml: ${approved.owners_named.map(toSingleLine).join(', ')}\n`,
    )
}

/** Throws `pairing/…`, `config/unreadable`, `home/locked`. */
export async function pairingRevoke(
  context: CliContext,
  platform: string,
  userId: string,
  { json }: JsonOption,
): Promise<void> {
  const name = platform.toLowerCase()
  const body = { platform: name, user_id: userId }
  await run<unknown>(
    context,
    body,
    (daemon) => callRoute(daemon, revokePairing, { body }),
    (admin) => admin.revoke(name, userId),
  )
  if (json)
    return createDisplay(context.output, context.environment).json({ platform: name, user_id: userId, revoked: true })
  context.output.write(`Revoked: ${toSingleLine(userId)} has no pairing on ${name} any more.\n`)
}

/** Throws `pairing/…`, `home/locked`. */
export async function pairingDeny(
  context: CliContext,
  platform: string,
  person: string,
  { json }: JsonOption,
): Promise<void> {
  const name = platform.toLowerCase()
  const body = { platform: name, person, via: 'cli' }
  const denied = await run(
    context,
    body,
    (daemon) => callRoute(daemon, denyPairing, { body }),
    async (admin) => {
      const request = admin.deny(name, person)
      await updateLockedStore(context.home, () => addDenial(denialEntry(request, 'cli'), Date.now()), undefined)
      return { platform: name, user_id: request.userId, user_name: request.userName }
    },
  )
  const display = createDisplay(context.output, context.environment)
  if (json) return display.json(denied)
  const who = denied.user_name === '' ? denied.user_id : `${denied.user_name} (${denied.user_id})`
  context.output.write(`Refused: the request of ${toSingleLine(who)} on ${name} has ended, without an answer.\n`)
}

/** Throws `pairing/files-unusable`, `home/locked`. */
export async function pairingClear(
  context: CliContext,
  platform: string | undefined,
  { json }: JsonOption,
): Promise<void> {
  const name = platform?.toLowerCase()
  const body = { platform: name }
  const { cleared } = await run(
    context,
    body,
    (daemon) => callRoute(daemon, clearPairing, { body }),
    (admin) => ({ cleared: admin.clearPending(name) }),
  )
  if (json) return createDisplay(context.output, context.environment).json({ cleared })
  context.output.write(`Ended ${cleared === 1 ? '1 request' : `${cleared} requests`} for access.\n`)
}

/** In the daemon if one runs, else in this process. */
async function run<Result>(
  context: CliContext,
  words: Readonly<Record<string, string | undefined>>,
  inDaemon: (daemon: Daemon) => Promise<Result>,
  directly: (admin: PairingAdmin) => Result | Promise<Result>,
): Promise<Result> {
  if (Object.values(words).includes('')) throw new HermesError('cli/usage', 'Expected no empty argument.')
  const { home } = context
  const settings = await readSettings(context)
  const daemon = await findRunningDaemon({ home, token: settings.token })
  if (daemon !== undefined) {
    warnVersionMismatch(context, daemon)
    return await inDaemon(daemon)
  }
  const lock = lockHomeForCommand(context.home)
  try {
    const admin = createPairingAdmin(
      { home, clock: Date.now, log: silentLog },
      {
        environment: settings.config.environment,
        accounts() {
          settings.config.reload()
          const { platforms, gateway, roles } = settings.config.current()
          return platformAccounts(settings.catalogue.platforms, { platforms, gateway, roles })
        },
        onChange: () => undefined,
      },
    )
    const result = await directly(admin)
    for (const line of damageWarnings(admin.list().damaged)) context.errors.write(`hermes: ${toSingleLine(line)}\n`)
    return result
  } finally {
    lock.release()
  }
}
