/**
 * Defines the commands for profiles and for people: approvals and pairing.
 */
import type { Command } from 'commander'
import { normalizeProfileName } from '../../lib/profiles.ts'
import type { CliContext } from '../kit/context.ts'
import { createGroup } from '../kit/help.ts'
import { type JsonOption, json } from './options.ts'

export function addProfileCommands(root: Command, context: CliContext): void {
  const profile = createGroup(root, 'profile', 'separate homes: each with its own settings, people and conversations')
  const manage = () => import('../profiles/manage.ts')
  profile
    .command('list')
    .description('list the profiles, and which of their gateways run')
    .option(...json)
    .action(async (options: JsonOption) => (await manage()).profileList(context, options))
  profile
    .command('create <name>')
    .summary('create a profile, empty or with the settings of another')
    .description(
      'Creates a profile with a free port. `--clone` copies config.yaml, .env and SOUL.md of the selected profile, without tokens of platforms and without conversations.',
    )
    .option('--clone', 'copy the settings of the selected profile', false)
    .option('--clone-from <profile>', 'copy the settings of this profile')
    .action(async (name: string, options: { clone: boolean; cloneFrom?: string }) =>
      (await import('../profiles/create.ts')).profileCreate(context, normalizeProfileName(name), {
        ...options,
        cloneFrom: options.cloneFrom === undefined ? undefined : normalizeProfileName(options.cloneFrom),
      }),
    )
  profile
    .command('use <name>')
    .description('select the profile of commands without --profile; `default` is the root home')
    .action(async (name: string) => (await manage()).profileUse(context, normalizeProfileName(name)))
  profile
    .command('show [name]')
    .description('show a profile; without a name, the selected one')
    .option(...json)
    .action(async (name: string | undefined, options: JsonOption) =>
      (await manage()).profileShow(context, name === undefined ? undefined : normalizeProfileName(name), options),
    )
  profile
    .command('rename <name> <new-name>')
    .description('rename a profile while its gateway is stopped; its conversations go on')
    .action(async (name: string, newName: string) =>
      (await manage()).profileRename(context, normalizeProfileName(name), normalizeProfileName(newName)),
    )
  profile
    .command('delete <name>')
    .description('delete a profile with its conversations while its gateway is stopped')
    .option('--yes', 'do not ask', false)
    .action(async (name: string, options: { yes: boolean }) =>
      (await manage()).profileDelete(context, normalizeProfileName(name), options),
    )
  profile
    .command('export <name> [file]')
    .summary('write a profile to an archive (.tar.gz)')
    .description(
      'Writes settings and extensions of a profile to an archive (.tar.gz), without secrets and conversations unless `--with-secrets`.',
    )
    .option('--with-secrets', 'include keys, tokens, conversations and the stored state of plugins', false)
    .action(async (name: string, file: string | undefined, options: { withSecrets: boolean }) =>
      (await import('../profiles/export.ts')).profileExport(context, normalizeProfileName(name), file, options),
    )
}

export function addApprovalCommands(root: Command, context: CliContext): void {
  const approvals = createGroup(root, 'approvals', 'commands that run without a question')
  approvals
    .command('list')
    .description('list what owners and users have allowed for ever or for a conversation')
    .option(...json)
    .action(async (options: JsonOption) => (await import('../approvals.ts')).approvalsList(context, options))
  approvals
    .command('revoke <entry>')
    .description('take back an entry of the list, by its id or its command')
    .action(async (entry: string) => (await import('../approvals.ts')).approvalsRevoke(context, entry))
}

export function addPairingCommands(root: Command, context: CliContext): void {
  const pairing = createGroup(root, 'pairing', 'people who ask for access, and people who were approved')
  pairing
    .command('list')
    .description('list requests for access and approved people')
    .option(...json)
    .action(async (options: JsonOption) => (await import('../pairing.ts')).pairingList(context, options))
  pairing
    .command('approve <platform> <code>')
    .description('give a person access, by the code that the person received or by the id of the request')
    .option(...json)
    .action(async (platform: string, code: string, options: JsonOption) =>
      (await import('../pairing.ts')).pairingApprove(context, platform, code, options),
    )
  pairing
    .command('deny <platform> <person>')
    .description('refuse one request, by the id of the user or of the request; the person gets no answer')
    .option(...json)
    .action(async (platform: string, person: string, options: JsonOption) =>
      (await import('../pairing.ts')).pairingDeny(context, platform, person, options),
    )
  pairing
    .command('revoke <platform> <user-id>')
    .description('take the access of an approved person back')
    .option(...json)
    .action(async (platform: string, userId: string, options: JsonOption) =>
      (await import('../pairing.ts')).pairingRevoke(context, platform, userId, options),
    )
  pairing
    .command('clear-pending [platform]')
    .description('end the requests that wait; their codes are worthless then')
    .option(...json)
    .action(async (platform: string | undefined, options: JsonOption) =>
      (await import('../pairing.ts')).pairingClear(context, platform, options),
    )
}
