/**
 * The configuration key `terminal`: where commands and file tools work, and what they reach.
 */
import { z } from 'zod'
import { findClosestMatch } from '../../lib/did-you-mean.ts'
import { builtInBackends } from './kinds.ts'
import { sshConfig } from './ssh-config.ts'

const seconds = z.number().positive()

/** `example.com`, `*.example.com`, `example.com:8443`. */
const hostEntry = z
  .string()
  .regex(
    /^(?:\*\.)?(?!(?:\d+\.)*\d+(?::|$))[a-z0-9_-]+(?:\.[a-z0-9_-]+)*(?::\d{1,5})?$/i,
    'must be a host name such as example.com, *.example.com or example.com:8443, without a scheme or a path',
  )

const variableName = z.string().regex(/^[A-Za-z_]\w*$/, 'must be the name of an environment variable')

/** One or two letters away from a name of the gateway. Other names may be those of plugins. */
function isMisspelled(name: string): boolean {
  const known = [...builtInBackends, 'modal', 'daytona']
  return !known.includes(name) && findClosestMatch(name, known) !== null
}

export const terminalConfig = {
  terminal: z
    .object({
      backend: z
        .string()
        .regex(/^[a-z][a-z0-9_-]{0,63}$/, 'must be a name such as local, docker or ssh')
        .refine((name) => !isMisspelled(name), 'is misspelled; known are local, bwrap, docker, ssh, singularity, none')
        .default('local')
        .describe(
          'Where commands and file tools work: `local` (this machine, in the sandbox if there is one), `bwrap` (this machine, never without the sandbox), `docker`, `ssh`, `singularity`, or the name that a plugin registers (`modal`, `daytona`). With `none` the model gets neither terminal nor file tools. No environment is replaced by another one.',
        ),
      cwd: z
        .string()
        .default('')
        .describe(
          'The working directory of commands, which they read and write as a whole, with files such as .env. Relative paths start at the home directory of the user. The default is `workspace` in the home of the gateway; with `sandbox: off` it is the home directory of the user.',
        ),
      ...sshConfig,
      timeout: seconds.default(180).describe('Seconds that a command may run unless the model sets another limit.'),
      max_timeout: seconds.default(1800).describe('Maximum number of seconds that a command may run.'),
      max_output_kb: z.int().min(1).default(200).describe('Maximum output of one command that is kept.'),
      env_passthrough: z
        .array(z.string())
        .default([])
        .describe(
          'Names of additional variables that commands receive: those of the environment of the gateway, and of .env. No name passes a credential of the gateway, of a model provider or of a platform.',
        ),
      sandbox: z
        .enum(['auto', 'bwrap', 'seatbelt', 'landlock', 'off'])
        .default('auto')
        .describe(
          'The sandbox in which the agent runs commands, and whose view of the disk its file tools obey. auto: the first that works of bubblewrap (Linux), Seatbelt (macOS) and Landlock (Linux, Perl). off: none.',
        ),
      sandbox_read: z
        .array(z.string())
        .default([])
        .describe(
          'Additional paths that the agent may read although the sandbox hides them, such as ~/notes. Of the home directory of the user (`~`) it sees only the working directory, the PATH, toolchains such as .nvm and .cargo/bin, and these paths.',
        ),
      persistent_shell: z
        .boolean()
        .default(true)
        .describe(
          'Whether the directory and the exported variables of a command last for the next one of the conversation.',
        ),
      sandbox_write: z
        .array(z.string())
        .default([])
        .describe('Paths outside the working directory and /tmp that the agent may write.'),
      sandbox_network: z
        .union([z.enum(['on', 'off']), z.boolean(), z.array(hostEntry)])
        .default('on')
        .describe(
          'Whether commands reach the network: on, off, or a list of hosts that they reach through a proxy (bubblewrap only): `example.com`, `*.example.com` for all below it, `example.com:8443` for another port than 80 and 443. Elsewhere a list means off.',
        ),
      max_processes: z
        .int()
        .min(16)
        .default(1_024)
        .describe(
          'Maximum number of processes and threads of one command in the sandbox (bubblewrap only). It does not hold when the gateway runs as root.',
        ),
      max_memory_mb: z
        .int()
        .min(64)
        .default(4_096)
        .describe('Maximum memory of each process in the sandbox. Not supported by macOS.'),
      docker_binary: z
        .string()
        .default('')
        .describe(
          'The program that reaches the engine of containers. The default is the first of docker and podman on the PATH.',
        ),
      docker_image: z
        .string()
        .min(1)
        .default('nikolaik/python-nodejs:python3.11-nodejs20')
        .describe('The image of the container. It needs `sh`. A missing one is fetched with the first command.'),
      docker_forward_env: z
        .array(variableName)
        .default([])
        .describe('Names of variables of the gateway that commands in the container receive, as `env_passthrough`.'),
      docker_env: z
        .record(variableName, z.union([z.string(), z.number(), z.boolean()]).transform(String))
        .default({})
        .describe('Variables of the container and their values. Secrets belong into `docker_forward_env`.'),
      docker_volumes: z
        .array(
          z
            .string()
            .regex(/^[^:]+:\/[^:]*(?::[a-zA-Z,]+)?$/, 'expected /here:/in/the/container, also with :ro at the end'),
        )
        .default([])
        .describe(
          'Folders and volumes that the container sees: `/here:/in/the/container`, with `:ro` to be read only. With a folder that commands may write, dangerous commands need approval as on the machine itself.',
        ),
      docker_mount_cwd_to_workspace: z
        .boolean()
        .default(false)
        .describe(
          'Whether `cwd` of this machine becomes /workspace of the container. Dangerous commands then need approval.',
        ),
      docker_network: z.boolean().default(true).describe('Whether commands in the container reach the network.'),
      docker_shm_size: z
        .string()
        .regex(/^(?:\d+[bkmg]?)?$/i, 'expected a size such as 1g or 512m')
        .default('1g')
        .describe("Size of /dev/shm in the container; '' or 0 for that of the engine."),
      docker_run_as_host_user: z
        .boolean()
        .default(false)
        .describe(
          'Whether commands in the container have the user id of the gateway, so that files in `docker_volumes` belong to it.',
        ),
      docker_extra_args: z
        .array(z.string())
        .default([])
        .describe(
          'Additional arguments of `docker run`, such as `--gpus=all`. They can lift the limits of the container.',
        ),
      docker_orphan_reaper: z
        .boolean()
        .default(true)
        .describe('Whether the gateway stops or removes, when it starts, the containers that an earlier run has left.'),
      container_persistent: z
        .boolean()
        .default(true)
        .describe(
          'true: one container for all conversations, which is stopped and found again; /workspace and /root lie in `sandboxes` of the home. false: each conversation has its own container, which is removed with all its files when the session ends or is idle.',
        ),
      container_cpu: z.number().min(0).default(1).describe('Number of CPUs of a container; 0 for no limit.'),
      container_memory: z.int().min(0).default(5_120).describe('Memory of a container in MB; 0 for no limit.'),
      container_disk: z
        .int()
        .min(0)
        .default(51_200)
        .describe('Disk of a container in MB, where the engine supports it; 0 for no limit.'),
      lifetime_seconds: z
        .number()
        .min(0)
        .default(300)
        .describe('Seconds after which a container that runs no command is stopped; 0 for never.'),
      singularity_image: z
        .string()
        .min(1)
        .default('docker://nikolaik/python-nodejs:python3.11-nodejs20')
        .describe(
          'The image for `backend: singularity`: a .sif file, a directory, or an address such as docker://name.',
        ),
      singularity_scratch_dir: z
        .string()
        .default('')
        .describe(
          'Where Apptainer keeps images and the files of persistent containers. The default is a folder in /scratch if that can be written, otherwise `sandboxes/singularity` of the home.',
        ),
    })
    .prefault({}),
} as const
