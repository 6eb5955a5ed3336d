/**
 * What the policy can say about a command.
 */

/** Never runs, whoever asks for it. */
export interface Forbidden {
  readonly verdict: 'forbidden'
  /** Short and stable: `remove-system`. */
  readonly rule: string
  /** Completes the sentence "this command …". */
  readonly reason: string
}

/** May run once a person has agreed. */
export interface NeedsApproval {
  readonly verdict: 'needs-approval'
  readonly rule: string
  readonly reason: string
}

export type Finding = Forbidden | NeedsApproval
export type Verdict = { readonly verdict: 'allow' } | Finding

export const forbid = (rule: string, reason: string): Forbidden => ({ verdict: 'forbidden', rule, reason })
export const ask = (rule: string, reason: string): NeedsApproval => ({ verdict: 'needs-approval', rule, reason })
