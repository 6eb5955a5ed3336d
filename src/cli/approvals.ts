/**
 * `hermes approvals`: the commands that run without a question, because an owner or a user of a conversation said so.
 */
import { callRoute } from '../api/client.ts'
import { revokeRemembered } from '../api/routes/approvals.ts'
import { listGrants, revokeGrant } from '../approvals/queries.ts'
import { grantNumber, maxListedGrants, rememberedApprovals } from '../approvals/remembered.ts'
import { editConfigLists } from '../config/edit-config.ts'
import { HermesError } from '../lib/errors.ts'
import { toSingleLine } from '../lib/visible-text.ts'
import type { CliContext, JsonOption } from './kit/context.ts'
import { readHomeStore } from './kit/home-store.ts'
import { showList } from './kit/list.ts'
import { readSettings } from './kit/settings.ts'
import { applyDeadLetterAction } from './shared/dead-letters.ts'

export async function approvalsList(context: CliContext, { json }: JsonOption): Promise<void> {
  const entries = await allowlistOf(context)
  const grants = readHomeStore(context.home, (reader) => reader.rows(listGrants, { limit: maxListedGrants }), [])
  const listed = rememberedApprovals(entries, grants)
  showList(context, {
    json,
    rows: listed,
    empty: 'Nothing is allowed without a question.',
    headings: ['ID', 'COVERS', 'WHERE', 'BY'],
    cells: ({ id, covers, where, by }) => [
      grantNumber(id) === undefined ? '-' : id,
      toSingleLine(covers),
      toSingleLine(where),
      toSingleLine(by),
    ],
    notes: ['`hermes approvals revoke <id or command>` takes one back.'],
  })
}

/** Throws `cli/not-found`, `config/…`, `store/…`. */
export async function approvalsRevoke(context: CliContext, name: string): Promise<void> {
  const entries = await allowlistOf(context)
  if (entries.includes(name)) {
    // A running gateway watches the file.
    editConfigLists(context.home, [{ path: ['command_allowlist'], remove: [name] }])
    context.output.write(`Asked again from now on: ${toSingleLine(name)}\n`)
    return
  }
  const id = grantNumber(name)
  if (id === undefined) {
    throw new HermesError('cli/not-found', `command_allowlist has no entry ${JSON.stringify(name)}.`, {
      hint: 'Run `hermes approvals list` and use an id or a command of the list.',
    })
  }
  await applyDeadLetterAction(context, {
    id,
    what: 'approval',
    inDaemon: (daemon) => callRoute(daemon, revokeRemembered, { body: { id } }),
    transaction: () => revokeGrant(id),
  })
  context.output.write(`Asked again from now on: ${name}\n`)
}

async function allowlistOf(context: CliContext): Promise<readonly string[]> {
  const { config } = await readSettings(context)
  return config.current().command_allowlist
}
