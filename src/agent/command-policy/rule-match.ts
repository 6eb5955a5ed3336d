/**
 * What the policy can say about a command.
 */

/** Never runs, whoever asks for it. */
export interface Forbidden {
  readonly decision: 'forbidden'
  /** Short and stable: `remove-system`. */
  readonly rule: string
  /** Completes the sentence "this command …". */
  readonly reason: string
}

/** May run once a person has agreed. */
export interface NeedsApproval {
  readonly decision: 'needs-approval'
  readonly rule: string
  readonly reason: string
}

export type RuleMatch = Forbidden | NeedsApproval
export type PolicyDecision = { readonly decision: 'allow' } | RuleMatch

export const forbid = (rule: string, reason: string): Forbidden => ({ decision: 'forbidden', rule, reason })
export const requireApproval = (rule: string, reason: string): NeedsApproval => ({
  decision: 'needs-approval',
  rule,
  reason,
})
