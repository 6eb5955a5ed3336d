/**
 * Adapters that do nothing but know the roles that people hold on their platform.
 */
import type { AccountDirectory } from '../../src/flows/access/account-directory.ts'
import type { PlatformAdapter } from '../../src/platforms/adapter.ts'

/** Connects all accounts. */
export function connectWithRoles(
  accounts: AccountDirectory,
  heldRoles: NonNullable<PlatformAdapter['heldRoles']>,
): AccountDirectory {
  const nothing = async () => undefined
  const adapter = { connect: nothing, disconnect: nothing, send: async () => ({ success: true }) as const, heldRoles }
  for (const { platform, account } of accounts.list())
    accounts.setAdapter({ platform: platform.name, account }, adapter)
  return accounts
}
