/**
 * The configuration keys of the agent. Durations are in seconds, as in the seeds.
 */
import { z } from 'zod'
import type { ConfigOf } from '../config/section.ts'
import { findClosestMatch } from '../lib/did-you-mean.ts'
import { reasoningEfforts } from '../message/conversation-choices.ts'
import { browserConfig } from './browser/config.ts'
import { checkpointsConfig } from './checkpoints/config.ts'
import { codeConfig } from './code/config.ts'
import { compressionConfig } from './compression/config.ts'
import { sshConfig } from './environments/ssh/config.ts'
import { memoryConfig } from './memory/config.ts'
import { modelConfig } from './models/config.ts'
import { skillsConfig } from './skills/config.ts'
import { toolsetsConfig } from './toolsets/config.ts'

const seconds = z.number().positive()

/** `example.com`, `*.example.com`, `example.com:8443`. */
const hostEntry = z
  .string()
  .regex(
    /^(?:\*\.)?(?!(?:\d+\.)*\d+(?::|$))[a-z0-9_-]+(?:\.[a-z0-9_-]+)*(?::\d{1,5})?$/i,
    'must be a host name such as example.com, *.example.com or example.com:8443, without a scheme or a path',
  )

const variableName = z.string().regex(/^[A-Za-z_]\w*$/, 'must be the name of an environment variable')

function isTimeZone(name: string): boolean {
  if (name === '') return true
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== ''
  } catch {
    return false
  }
}

/** One or two letters away from a name of the gateway. Other names may be those of plugins. */
function isMisspelled(name: string): boolean {
  const known = ['local', 'bwrap', 'docker', 'ssh', 'singularity', 'none', 'modal', 'daytona']
  return !known.includes(name) && findClosestMatch(name, known) !== null
}

export const agentConfig = {
  ...modelConfig,
  ...codeConfig,
  ...browserConfig,
  ...checkpointsConfig,
  max_iterations: z.int().min(1).max(1000).default(90).describe('Maximum number of model calls per turn.'),
  timezone: z
    .string()
    .refine(isTimeZone, 'expected a time zone of IANA such as Europe/Berlin, or UTC')
    .default('')
    .describe(
      'The time zone in which the model is told the date, such as Europe/Berlin. The default is that of the machine.',
    ),
  prefill_messages_file: z
    .string()
    .default('')
    .describe(
      'A JSON file with messages `{"role", "content"}` that precede every conversation: user and assistant in turn, and system. They are added to each request and stored nowhere. Relative to the home of the gateway; read again for each turn.',
    ),
  personality: z
    .string()
    .default('SOUL.md')
    .describe(
      'The persona file in the home directory, with whose text the system prompt begins; or a name of `personalities`.',
    ),
  personalities: z
    .record(
      z.string().regex(/^[^\s/]{1,64}$/, 'must be one word of at most 64 characters'),
      z.union([
        z.string().min(1).max(20_000),
        z.object({ system_prompt: z.string().min(1).max(20_000), description: z.string().max(200).default('') }),
      ]),
    )
    .default({})
    .describe(
      'Personalities that people choose with `/personality`: a name, and the text that follows SOUL.md in the system prompt, or `{system_prompt, description}`.',
    ),
  reasoning_effort: z
    .enum(reasoningEfforts)
    .optional()
    .describe('How much the model may reason, for models with such a setting.'),
  max_output_tokens: z
    .int()
    .min(1)
    .optional()
    .describe('Maximum length of one response in tokens. Anthropic requires a limit; the default there is 8192.'),
  ...compressionConfig,
  ...toolsetsConfig,
  ...memoryConfig,
  ...skillsConfig,
  agent: z
    .object({
      drain_timeout: seconds.default(30).describe('Seconds that running turns have to finish when the daemon stops.'),
      restart_drain_timeout: z
        .number()
        .min(0)
        .optional()
        .describe(
          'As `drain_timeout`, for a restart (`/restart`, SIGUSR1); by default the same. 0 interrupts at once.',
        ),
      max_turns: z
        .int()
        .min(1)
        .max(1000)
        .optional()
        .describe('The former name of `max_iterations`; takes precedence when both are set.'),
      image_input_mode: z
        .enum(['auto', 'native', 'text'])
        .default('auto')
        .describe(
          'Which models are shown the pictures that people send. `auto`: those that are known to read pictures, and those with `supports_vision`. `native`: all. `text`: none; each reads the path of the file, and has `vision_analyze` for it.',
        ),
      model_timeout: seconds
        .default(600)
        .describe(
          'Seconds without output of the model after which a call fails. Comments and empty chunks of the stream are not output.',
        ),
      model_call_timeout: seconds
        .default(1800)
        .describe('Maximum number of seconds of a model call, however much the model sends.'),
      retry_window: z
        .number()
        .min(0)
        .default(120)
        .describe('Seconds in which a failed model call is retried after its first transient failure.'),
      max_retries: z
        .int()
        .min(0)
        .max(1000)
        .optional()
        .describe(
          'Maximum number of retries of a model call. When it is reached, the message fails at once, without waiting for the end of an outage.',
        ),
      gateway_notify_interval: z
        .number()
        .min(0)
        .default(180)
        .describe(
          'Seconds after which the chat is told what a turn is doing, and between two such notices; 0 for never. See `display.long_running_notifications`.',
        ),
      outage_patience: z
        .number()
        .min(0)
        .default(1800)
        .describe(
          'Seconds that a message waits for the provider of the model after its first failure. The waiting message is stored, so a restart changes nothing.',
        ),
      max_concurrent_turns: z
        .int()
        .min(1)
        .max(10_000)
        .default(64)
        .describe('Maximum number of turns that run at the same time.'),
      max_tool_result_chars: z
        .int()
        .min(1_000)
        .default(50_000)
        .describe('Maximum length of a tool result; a longer one is cut in the middle.'),
      max_identical_calls: z
        .int()
        .min(0)
        .max(100)
        .default(5)
        .describe(
          'A turn ends with a notice when the same tool call has had the same result this many times among its latest calls; 0 for no limit.',
        ),
      max_turn_tokens: z
        .int()
        .min(1)
        .optional()
        .describe(
          'A turn ends with a notice when its model calls have used this many tokens, input and output together. The default is no limit.',
        ),
      system_prompt: z
        .string()
        .max(20_000)
        .default('')
        .describe(
          'A text that follows the system prompt in each request. It is stored nowhere, so a change counts for all conversations at once.',
        ),
      disabled_toolsets: z
        .array(z.string())
        .default([])
        .describe(
          'Toolsets and tools that the model does not get, whatever the other lists say. Counts at once, also in conversations that have begun.',
        ),
    })
    .prefault({}),
  delegation: z
    .object({
      max_iterations: z.int().min(1).max(1000).default(50).describe('Maximum number of model calls of a sub-agent.'),
      max_concurrent_children: z
        .int()
        .min(1)
        .max(10)
        .default(3)
        .describe(
          'Maximum number of sub-agents that one call of `delegate_task` starts, and of sub-agents of one conversation in the background.',
        ),
      max_spawn_depth: z
        .int()
        .min(1)
        .max(3)
        .default(1)
        .describe('How deep sub-agents may start sub-agents. 1: only the agent itself starts them.'),
      max_children_per_turn: z
        .int()
        .min(1)
        .max(1000)
        .default(50)
        .describe('Maximum number of sub-agents that one turn starts, at all depths together.'),
      default_toolsets: z
        .array(z.string())
        .default(['terminal', 'file', 'web'])
        .describe(
          'Toolsets of a sub-agent for which the agent names none; `*` for all that the agent has. A sub-agent never gets a tool that the agent does not have.',
        ),
      inherit_mcp_toolsets: z
        .boolean()
        .default(true)
        .describe('Whether a sub-agent also has the MCP servers of the agent, whichever toolsets it is given.'),
      child_timeout_seconds: seconds
        .default(600)
        .describe('Seconds that a sub-agent may work. It is then ended, and the agent is told.'),
      model: z.string().default('').describe('The model of sub-agents. The default is that of the conversation.'),
      provider: z.string().default('').describe('The provider of sub-agents, as `provider`, which is the default.'),
      base_url: z.string().default('').describe('The address of the API of sub-agents. The default is `base_url`.'),
      api_key: z
        .string()
        .default('')
        .describe(
          'The API key of sub-agents. A key is only sent to the provider or the address for which it is configured.',
        ),
      api_mode: modelConfig.api_mode.describe('The API that the server of sub-agents speaks, as `api_mode`.'),
    })
    .prefault({}),
  security: z
    .object({
      allow_private_urls: z
        .boolean()
        .default(false)
        .describe(
          '`web_extract` and the browser may read pages of this machine and of private networks. Addresses of cloud metadata services stay forbidden.',
        ),
      scan_soul: z
        .enum(['warn', 'block'])
        .default('warn')
        .describe(
          'What happens when the persona file looks like a prompt injection. Files of projects are always blocked.',
        ),
    })
    .prefault({}),
  terminal: z
    .object({
      backend: z
        .string()
        .regex(/^[a-z][a-z0-9_-]{0,63}$/, 'must be a name such as local, docker or ssh')
        .refine((name) => !isMisspelled(name), 'is misspelled; known are local, bwrap, docker, ssh, singularity, none')
        .default('local')
        .describe(
          'Where commands and file tools work: `local` (this machine, in the sandbox if there is one), `bwrap` (this machine, never without the sandbox), `docker`, `ssh`, `singularity`, or the name that a plugin registers (`modal`, `daytona`). With `none` the model gets neither terminal nor file tools. No place is replaced by another one.',
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

export type AgentConfig = ConfigOf<typeof agentConfig>
