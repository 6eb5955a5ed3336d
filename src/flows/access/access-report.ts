/**
 * Why a person has access and what the person may do, for `/whoami`. Loaded with the command.
 */
import type { Access } from '../../commands/gateway.ts'
import type { Authority } from '../../message/authority.ts'
import type { AccountDirectory } from './account-directory.ts'
import { permittedCommands } from './command-ceiling.ts'

export function createAccessReport(
  accounts: Pick<AccountDirectory, 'access' | 'commandTiersOf'>,
  { toolListOf }: { toolListOf(authority: Authority): readonly string[] },
): Access {
  return {
    reason: (source) => accounts.access({ source }).reason,
    permissions(authority, source) {
      const commands =
        authority.role === 'owner' ? ['*'] : permittedCommands(authority, accounts.commandTiersOf(source))
      return { role: authority.role, tools: toolListOf(authority), commands }
    },
  }
}
