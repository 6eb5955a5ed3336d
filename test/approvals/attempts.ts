/**
 * Attempts to obtain an approval, most of them wrongly: forged, replayed and stale presses, wrong people, modes and lists.
 */
import type { ApprovalNeed } from '../../src/agent/tools/tool.ts'
import type { MessageEvent } from '../../src/message/event.ts'
import type { SessionSource } from '../../src/message/source.ts'
import { ada, bob } from './people.ts'

export const eve: SessionSource = { ...ada, userId: 'u9', userName: 'Eve' }
export const inGroup = (source: SessionSource): SessionSource => ({ ...source, chatType: 'group' })
const outside: Partial<ApprovalNeed> = { ruleKey: 'outside-sandbox', remember: 'call', ownerOnly: true }

export interface Situation {
  /** `approvals` of config.yaml. */
  readonly approvals?: Readonly<Record<string, unknown>>
  readonly allowlist?: readonly string[]
  /** Ids of the owners; Ada (u7) has sent the message. */
  readonly owners?: readonly string[]
  readonly event?: Partial<MessageEvent>
  readonly need?: Partial<ApprovalNeed>
  readonly yolo?: boolean
  readonly verdict?: 'yes' | 'no' | 'unclear' | 'fails'
  readonly isConfigReadOnly?: boolean
}

export interface Attempt extends Situation {
  readonly name: string
  /** Presses in order: the button (`#` stands for the id of the question) and who presses it. */
  readonly presses?: readonly (readonly [button: string, by: SessionSource])[]
  readonly statuses?: readonly string[]
  /** The decision, or `waiting` while no one has decided. */
  readonly outcome: 'allow' | 'deny' | 'waiting'
}

const group = { event: { source: inGroup(ada) } } as const
const task = (route: string): Situation => ({ event: { task: { id: 'bg_1', deliver: null, route } } })
const unattended = (platform: string): Situation => ({
  event: { source: { ...ada, platform }, metadata: { attended: 'no' } },
})

export const attempts: readonly Attempt[] = [
  { name: 'allowed once by the requester', presses: [['appr:#:once', ada]], statuses: ['taken'], outcome: 'allow' },
  { name: 'denied by the requester', presses: [['appr:#:deny', ada]], statuses: ['taken'], outcome: 'deny' },
  { name: 'refused by a model that says no', approvals: { mode: 'smart' }, verdict: 'no', outcome: 'deny' },
  {
    name: 'an entry of the allow list outweighs a model that says no',
    approvals: { mode: 'smart' },
    allowlist: ['rm -r build'],
    verdict: 'no',
    outcome: 'allow',
  },
  {
    name: 'a second press changes nothing',
    presses: [
      ['appr:#:deny', ada],
      ['appr:#:once', ada],
    ],
    statuses: ['taken', 'stale'],
    outcome: 'deny',
  },
  {
    name: 'a replayed press is stale',
    presses: [
      ['appr:#:once', ada],
      ['appr:#:once', ada],
    ],
    statuses: ['taken', 'stale'],
    outcome: 'allow',
  },
  { name: 'a forged question id', presses: [['appr:guessed:once', ada]], statuses: ['stale'], outcome: 'waiting' },
  { name: 'a forged choice', presses: [['appr:#:forever', ada]], statuses: ['stale'], outcome: 'waiting' },
  { name: 'a button of another kind', presses: [['cl:#:0', ada]], statuses: ['stale'], outcome: 'waiting' },
  { name: 'a confirmation button', presses: [['sc:once:#', ada]], statuses: ['stale'], outcome: 'waiting' },
  { name: 'a button with more parts', presses: [['appr:#:once:x', ada]], statuses: ['stale'], outcome: 'waiting' },
  {
    name: 'a press in another chat',
    presses: [['appr:#:once', { ...ada, chatId: 'elsewhere' }]],
    statuses: ['stale'],
    outcome: 'waiting',
  },
  {
    name: 'a press on another platform',
    presses: [['appr:#:once', { ...ada, platform: 'other' }]],
    statuses: ['stale'],
    outcome: 'waiting',
  },
  { name: 'a press of another member', presses: [['appr:#:once', bob]], statuses: ['refused'], outcome: 'waiting' },
  {
    name: 'a press without a user id',
    presses: [['appr:#:once', { ...ada, userId: '' }]],
    statuses: ['refused'],
    outcome: 'waiting',
  },
  {
    name: 'an owner allows what a member asked',
    ...group,
    owners: ['u8'],
    presses: [['appr:#:once', bob]],
    statuses: ['taken'],
    outcome: 'allow',
  },
  {
    name: 'approver owner: the requesting member is refused, an owner is not',
    ...group,
    owners: ['u8'],
    approvals: { approver: 'owner' },
    presses: [
      ['appr:#:once', ada],
      ['appr:#:once', bob],
    ],
    statuses: ['refused', 'taken'],
    outcome: 'allow',
  },
  {
    name: 'approver other_owner: the requesting owner is refused',
    ...group,
    owners: ['u7', 'u8'],
    approvals: { approver: 'other_owner' },
    presses: [
      ['appr:#:once', ada],
      ['appr:#:once', eve],
    ],
    statuses: ['refused', 'refused'],
    outcome: 'waiting',
  },
  {
    name: 'approver other_owner: another owner may',
    ...group,
    owners: ['u7', 'u8'],
    approvals: { approver: 'other_owner' },
    presses: [['appr:#:once', bob]],
    statuses: ['taken'],
    outcome: 'allow',
  },
  { name: 'approver owner: a member alone is denied', approvals: { approver: 'owner' }, outcome: 'deny' },
  {
    name: 'approver other_owner: an owner alone is denied',
    owners: ['u7'],
    approvals: { approver: 'other_owner' },
    outcome: 'deny',
  },
  { name: 'mode off runs it', approvals: { mode: 'off' }, outcome: 'allow' },
  { name: 'mode smart with a clear yes', approvals: { mode: 'smart' }, verdict: 'yes', outcome: 'allow' },
  {
    name: 'mode smart: a model judges nothing where no user could be asked',
    ...task('cron'),
    approvals: { mode: 'smart' },
    verdict: 'yes',
    outcome: 'deny',
  },
  { name: 'mode smart without a clear yes', approvals: { mode: 'smart' }, outcome: 'waiting' },
  { name: 'mode smart without a model', approvals: { mode: 'smart' }, verdict: 'fails', outcome: 'waiting' },
  { name: 'yolo of an owner', yolo: true, owners: ['u7'], outcome: 'allow' },
  { name: 'yolo does not apply to a member', yolo: true, outcome: 'waiting' },
  { name: 'an entry of the list', allowlist: ['rm -r build'], outcome: 'allow' },
  { name: 'another path is another entry', allowlist: ['rm -r dist'], outcome: 'waiting' },
  {
    name: 'an entry does not cover a command that is appended',
    allowlist: ['rm -r *'],
    need: { command: 'rm -r build; rm -r /srv' },
    outcome: 'waiting',
  },
  {
    name: 'an entry does not cover a path with a slash',
    allowlist: ['rm -r *'],
    need: { command: 'rm -r ../other' },
    outcome: 'waiting',
  },
  {
    name: 'outside the sandbox: mode off asks',
    owners: ['u7'],
    approvals: { mode: 'off' },
    need: outside,
    outcome: 'waiting',
  },
  { name: 'outside the sandbox: yolo asks', owners: ['u7'], yolo: true, need: outside, outcome: 'waiting' },
  {
    name: 'outside the sandbox: a clear yes of a model asks',
    owners: ['u7'],
    approvals: { mode: 'smart' },
    verdict: 'yes',
    need: outside,
    outcome: 'waiting',
  },
  {
    name: 'outside the sandbox: the list asks',
    owners: ['u7'],
    allowlist: ['rm -r build'],
    need: outside,
    outcome: 'waiting',
  },
  { name: 'outside the sandbox: a member alone is denied', need: outside, outcome: 'deny' },
  {
    name: 'outside the sandbox: an answer for the session is not offered',
    owners: ['u7'],
    need: outside,
    presses: [
      ['appr:#:session', ada],
      ['appr:#:always', ada],
    ],
    statuses: ['stale', 'stale'],
    outcome: 'waiting',
  },
  {
    name: 'outside the sandbox: unattended approve is denied',
    ...unattended('chat'),
    owners: ['u7'],
    approvals: { unattended_mode: 'approve' },
    need: outside,
    outcome: 'deny',
  },
  { name: 'a scheduled turn is denied', ...task('cron:daily'), outcome: 'deny' },
  { name: 'cron_mode approve', ...task('cron:daily'), approvals: { cron_mode: 'approve' }, outcome: 'allow' },
  {
    name: 'cron_mode is not for other tasks',
    ...task('background'),
    approvals: { cron_mode: 'approve' },
    outcome: 'deny',
  },
  { name: 'a program is denied', ...unattended('api_server'), outcome: 'deny' },
  {
    name: 'unattended_mode approve',
    ...unattended('api_server'),
    approvals: { unattended_mode: 'approve' },
    outcome: 'allow',
  },
  {
    name: 'single_query_mode approve',
    ...unattended('cli'),
    approvals: { single_query_mode: 'approve' },
    outcome: 'allow',
  },
  {
    name: 'single_query_mode is not for programs',
    ...unattended('api_server'),
    approvals: { single_query_mode: 'approve' },
    outcome: 'deny',
  },
  {
    name: 'a plugin is not settled by mode off',
    approvals: { mode: 'off' },
    need: { source: 'plugin' },
    outcome: 'waiting',
  },
]
