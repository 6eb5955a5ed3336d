/**
 * Lists what runs without a question, and takes it back, for the page. Loaded with the first request.
 */
import { listGrants, revokeGrant } from '../../approvals/queries.ts'
import {
  grantNumber,
  maxListedGrants,
  type RememberedApproval,
  rememberedApprovals,
} from '../../approvals/remembered.ts'
import { editConfigLists } from '../../config/edit-config.ts'
import { rows } from '../../store/query.ts'
import type { ApiServices } from '../services.ts'

/** Rejects `store/…`. */
export async function listRemembered({ store, settings }: ApiServices): Promise<readonly RememberedApproval[]> {
  return rememberedApprovals(
    settings().command_allowlist,
    await store.run(() => rows(listGrants, { limit: maxListedGrants })),
  )
}

/**
 * Takes an approval back by an id of the list. Resolves with false when there is none.
 * Rejects `store/…`, and `config/…` when config.yaml cannot be edited.
 */
export async function revokeRemembered(
  { store, home, settings, lifecycle }: ApiServices,
  id: string,
): Promise<boolean> {
  if (settings().command_allowlist.includes(id)) {
    editConfigLists(home, [{ path: ['command_allowlist'], remove: [id] }])
    await lifecycle.reloadConfig()
    return true
  }
  const grant = grantNumber(id)
  return grant !== undefined && (await store.run(() => revokeGrant(grant)))
}
