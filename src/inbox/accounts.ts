/**
 * What is asked about the account of a platform that has received a message: who may write to it, and to which session the
 * message belongs.
 */
import type { Authority } from '../message/authority.ts'
import type { MessageEvent } from '../message/event.ts'
import type { SessionKey } from '../message/ids.ts'
import type { SessionSource } from '../message/source.ts'

export interface Accounts {
  /** Whether the person may talk to the agent in this chat (contract §3.10). */
  access(event: Pick<MessageEvent, 'source' | 'internal'>): { readonly allowed: boolean; readonly reason: string }
  /**
   * Decides whose message it is, by the lists of the configuration and the platform roles that are known now. The lowest possible
   * role otherwise, and for an account that is not configured.
   */
  authorityOf(source: SessionSource): Authority
  /**
   * Works like `authorityOf`, and looks up the platform roles on which it depends. Takes at most two seconds, never
   * rejects.
   */
  lookUpAuthority(source: SessionSource): Authority | Promise<Authority>
  /** The effect of edits for the account of this source. */
  editPolicyOf(source: SessionSource): 'ignore' | 'amend' | 'rerun'
  sessionKey(source: SessionSource): SessionKey
  /** Several people write in the session of this source. */
  isShared(source: SessionSource): boolean
}
