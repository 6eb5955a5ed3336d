/**
 * What runs without a question: the entries of `command_allowlist`, and what users allowed for a session or a conversation.
 */

/** For people and programs: `hermes approvals list --json` and `GET /api/approvals`. */
export interface RememberedApproval {
  /** An entry of `command_allowlist`, or `g<number>`. */
  readonly id: string
  readonly covers: string
  readonly where: string
  /** The id of the user; '' for an entry of the configuration. */
  readonly by: string
}

interface Grant {
  readonly id: number
  readonly scope: string
  readonly rule: string
  readonly granted_by: string
}

export const maxListedGrants = 500

export function rememberedApprovals(
  allowlist: readonly string[],
  grants: readonly Grant[],
): readonly RememberedApproval[] {
  return [
    ...allowlist.map((entry) => ({ id: entry, covers: entry, where: 'everywhere (config.yaml)', by: '' })),
    ...grants.map(({ id, scope, rule, granted_by }) => ({
      id: `g${id}`,
      covers: coversOf(rule),
      where: scope.replace(/^session:/, 'conversation ').replace(/^life:/, 'session '),
      by: granted_by,
    })),
  ]
}

/** The number of a grant from the list; undefined for other ids. */
export function grantNumber(id: string): number | undefined {
  const digits = /^g(\d{1,15})$/.exec(id)?.[1]
  return digits === undefined ? undefined : Number(digits)
}

/** `command:<hash> <command>`, `tool:<rule>`, `slash:<command>`, `yolo`. */
function coversOf(rule: string): string {
  if (rule === 'yolo') return 'every command of an owner (/yolo)'
  const command = /^command:[0-9a-f]+ (.*)$/s.exec(rule)?.[1]
  return command ?? rule.replace(/^tool:/, 'calls that a plugin asks about: ').replace(/^slash:/, '/')
}
