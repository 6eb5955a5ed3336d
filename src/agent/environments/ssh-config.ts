/**
 * The keys of `terminal` for commands over ssh (Hermes: `TERMINAL_SSH_*`).
 */
import { z } from 'zod'

export const sshConfig = {
  ssh_host: z
    .string()
    .default('')
    .describe(
      'The machine on which commands run with `backend: ssh`: a name, an address or a `Host` of the ssh configuration of the user of the gateway.',
    ),
  ssh_user: z
    .string()
    .default('')
    .describe('The account on that machine. The default is that of the ssh configuration.'),
  ssh_port: z
    .int()
    .min(1)
    .max(65_535)
    .optional()
    .describe('The port of that machine. The default is that of the ssh configuration, or 22.'),
  ssh_key: z
    .string()
    .default('')
    .describe(
      'The file of the private key. The default are the keys of the ssh configuration and of the ssh agent. A key with a passphrase needs an agent.',
    ),
  ssh_host_keys: z
    .enum(['strict', 'accept-new'])
    .default('strict')
    .describe(
      'Which host keys are trusted. strict: those in known_hosts. accept-new: the key that a machine shows at the first connection, too; it is then added to known_hosts. A changed key is always refused.',
    ),
  ssh_known_hosts: z
    .string()
    .default('')
    .describe('The known_hosts file. The default is that of the ssh configuration, ~/.ssh/known_hosts.'),
  ssh_cwd: z
    .string()
    .default('')
    .describe(
      'The working directory of commands on that machine. The default is `terminal.cwd`, and otherwise the home directory there.',
    ),
} as const
