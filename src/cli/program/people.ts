/**
 * Defines the commands for profiles and for people: approvals and pairing.
 */
import type { Command } from 'commander'
import { normalizeProfileName } from '../../lib/profiles.ts'
import type { CliContext } from '../kit/context.ts'
import { createGroup } from '../kit/help.ts'
import { json, run } from './options.ts'

const name = ['<name>', '', normalizeProfileName] as const

export function addProfileCommands(root: Command, context: CliContext): void {
  const profile = createGroup(root, 'profile', 'separate homes: each with its own settings, people and conversations')
  const manage = () => import('../profiles/manage.ts')
  profile
    .command('list')
    .description('list the profiles, and which of their gateways run')
    .option(...json)
    .action(run(context, async () => (await manage()).profileList))
  profile
    .command('create')
    .argument(...name)
    .summary('create a profile, empty or with the settings of another')
    .description(
      'Creates a profile with a free port. `--clone` copies config.yaml, .env and SOUL.md of the selected profile, without tokens of platforms and without conversations.',
    )
    .option('--clone', 'copy the settings of the selected profile', false)
    .option('--clone-from <profile>', 'copy the settings of this profile', normalizeProfileName)
    .action(run(context, async () => (await import('../profiles/create.ts')).profileCreate))
  profile
    .command('use')
    .argument(...name)
    .description('select the profile of commands without --profile; `default` is the root home')
    .action(run(context, async () => (await manage()).profileUse))
  profile
    .command('show')
    .argument('[name]', '', normalizeProfileName)
    .description('show a profile; without a name, the selected one')
    .option(...json)
    .action(run(context, async () => (await manage()).profileShow))
  profile
    .command('rename')
    .argument(...name)
    .argument('<new-name>', '', normalizeProfileName)
    .description('rename a profile while its gateway is stopped; its conversations go on')
    .action(run(context, async () => (await manage()).profileRename))
  profile
    .command('delete')
    .argument(...name)
    .description('delete a profile with its conversations while its gateway is stopped')
    .option('--yes', 'do not ask', false)
    .action(run(context, async () => (await manage()).profileDelete))
  profile
    .command('export')
    .argument(...name)
    .argument('[file]')
    .summary('write a profile to an archive (.tar.gz)')
    .description(
      'Writes settings and extensions of a profile to an archive (.tar.gz), without secrets and conversations unless `--with-secrets`.',
    )
    .option('--with-secrets', 'include keys, tokens, conversations and the stored state of plugins', false)
    .action(run(context, async () => (await import('../profiles/export.ts')).profileExport))
}

export function addApprovalCommands(root: Command, context: CliContext): void {
  const approvals = createGroup(root, 'approvals', 'commands that run without a question')
  approvals
    .command('list')
    .description('list what owners and users have allowed for ever or for a conversation')
    .option(...json)
    .action(run(context, async () => (await import('../approvals.ts')).approvalsList))
  approvals
    .command('revoke <entry>')
    .description('take back an entry of the list, by its id or its command')
    .action(run(context, async () => (await import('../approvals.ts')).approvalsRevoke))
}

export function addPairingCommands(root: Command, context: CliContext): void {
  const pairing = createGroup(root, 'pairing', 'people who ask for access, and people who were approved')
  pairing
    .command('list')
    .description('list requests for access and approved people')
    .option(...json)
    .action(run(context, async () => (await import('../pairing.ts')).pairingList))
  pairing
    .command('approve <platform> <code>')
    .description('give a person access, by the code that the person received or by the id of the request')
    .option(...json)
    .action(run(context, async () => (await import('../pairing.ts')).pairingApprove))
  pairing
    .command('deny <platform> <person>')
    .description('refuse one request, by the id of the user or of the request; the person gets no answer')
    .option(...json)
    .action(run(context, async () => (await import('../pairing.ts')).pairingDeny))
  pairing
    .command('revoke <platform> <user-id>')
    .description('take the access of an approved person back')
    .option(...json)
    .action(run(context, async () => (await import('../pairing.ts')).pairingRevoke))
  pairing
    .command('clear-pending [platform]')
    .description('end the requests that wait; their codes are worthless then')
    .option(...json)
    .action(run(context, async () => (await import('../pairing.ts')).pairingClear))
}
