/**
 * Lists what runs without a question, and takes it back, for the page. Loaded with the first request.
 */
import { listGrants, revokeGrant } from '../approvals/queries.ts'
import { grantNumber, maxListedGrants, type RememberedApproval, rememberedApprovals } from '../approvals/remembered.ts'
import { editConfigLists } from '../config/edit-config.ts'
import type { HomeLayout } from '../lib/home.ts'
import { rows } from '../store/query.ts'
import type { Store } from '../store/store.ts'

export interface RememberedDeps {
  readonly store: Store
  readonly home: Pick<HomeLayout, 'root' | 'configFile'>
  /** `command_allowlist`. */
  allowlist(): readonly string[]
  /** Applies a change of config.yaml at once. */
  reloadConfig(): unknown
}

/** Rejects `store/…`. */
export async function listRemembered({ store, allowlist }: RememberedDeps): Promise<readonly RememberedApproval[]> {
  return rememberedApprovals(allowlist(), await store.run(() => rows(listGrants, { limit: maxListedGrants })))
}

/**
 * Takes an approval back by an id of the list. Resolves with false when there is none.
 * Rejects `store/…`, and `config/…` when config.yaml cannot be edited.
 */
export async function revokeRemembered(
  { store, home, allowlist, reloadConfig }: RememberedDeps,
  id: string,
): Promise<boolean> {
  if (allowlist().includes(id)) {
    editConfigLists(home, [{ path: ['command_allowlist'], remove: [id] }])
    await reloadConfig()
    return true
  }
  const grant = grantNumber(id)
  return grant !== undefined && (await store.run(() => revokeGrant(grant)))
}
