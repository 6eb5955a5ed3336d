/**
 * Defines the commands for profiles and for people: approvals and pairing.
 */
import { normalizeProfileName } from '../../lib/profiles.ts'
import { type Commands, json } from './options.ts'

const name = ['<name>', '', normalizeProfileName] as const

export function addProfileCommands(root: Commands): void {
  const profile = root.group('profile', 'separate homes: each with its own settings, people and conversations')
  const manage = profile.from(() => import('../profiles/manage.ts'))
  manage.add('list', 'profileList', 'list the profiles, and which of their gateways run', json)
  profile
    .from(() => import('../profiles/create.ts'))
    .add('create', 'profileCreate', 'create a profile, empty or with the settings of another')
    .argument(...name)
    .description(
      'Creates a profile with a free port. `--clone` copies config.yaml, .env and SOUL.md of the selected profile, without tokens of platforms and without conversations.',
    )
    .option('--clone', 'copy the settings of the selected profile', false)
    .option('--clone-from <profile>', 'copy the settings of this profile', normalizeProfileName)
  manage
    .add('use', 'profileUse', 'select the profile of commands without --profile; `default` is the root home')
    .argument(...name)
  manage
    .add('show', 'profileShow', 'show a profile; without a name, the selected one', json)
    .argument('[name]', '', normalizeProfileName)
  manage
    .add('rename', 'profileRename', 'rename a profile while its gateway is stopped; its conversations go on')
    .argument(...name)
    .argument('<new-name>', '', normalizeProfileName)
  manage
    .add('delete', 'profileDelete', 'delete a profile with its conversations while its gateway is stopped')
    .argument(...name)
    .option('--yes', 'do not ask', false)
  profile
    .add(() => import('../profiles/export.ts'), 'export', 'profileExport', 'write a profile to an archive (.tar.gz)')
    .argument(...name)
    .argument('[file]')
    .description(
      'Writes settings and extensions of a profile to an archive (.tar.gz), without secrets and conversations unless `--with-secrets`.',
    )
    .option('--with-secrets', 'include keys, tokens, conversations and the stored state of plugins', false)
}

export function addApprovalCommands(root: Commands): void {
  const approvals = root
    .group('approvals', 'commands that run without a question')
    .from(() => import('../approvals.ts'))
  approvals.add('list', 'approvalsList', 'list what owners and users have allowed for ever or for a conversation', json)
  approvals.add('revoke <entry>', 'approvalsRevoke', 'take back an entry of the list, by its id or its command')
}

export function addPairingCommands(root: Commands): void {
  const pairing = root
    .group('pairing', 'people who ask for access, and people who were approved')
    .from(() => import('../pairing.ts'))
  pairing.add('list', 'pairingList', 'list requests for access and approved people', json)
  pairing.add(
    'approve <platform> <code>',
    'pairingApprove',
    'give a person access, by the code that the person received or by the id of the request',
    ['--owner', 'as an owner: also names the person in roles.owners', false],
    json,
  )
  pairing.add(
    'deny <platform> <person>',
    'pairingDeny',
    'refuse one request, by the id of the user or of the request; the person gets no answer',
    json,
  )
  pairing.add('revoke <platform> <user-id>', 'pairingRevoke', 'take the access of an approved person back', json)
  pairing.add(
    'clear-pending [platform]',
    'pairingClear',
    'end the requests that wait; their codes are worthless then',
    json,
  )
}
