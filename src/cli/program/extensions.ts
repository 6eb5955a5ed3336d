/**
 * Defines the commands for hooks, plugins and platforms.
 */
import type { Command } from 'commander'
import type { CliContext } from '../kit/context.ts'
import { createGroup } from '../kit/help.ts'
import { type JsonOption, json } from './options.ts'

export function addHookCommands(root: Command, context: CliContext): void {
  root.commandsGroup('Extend:')
  const hooks = createGroup(root, 'hooks', 'your own code that observes events')
  hooks
    .command('list')
    .description('list hooks with their state and statistics')
    .option(...json)
    .action(async (options: JsonOption) => (await import('../hooks-list.ts')).hooksList(context, options))
  hooks
    .command('info <name>')
    .description('show all details of a hook')
    .option(...json)
    .action(async (name: string, options: JsonOption) =>
      (await import('../hooks-list.ts')).hooksInfo(context, name, options),
    )
  hooks
    .command('test <name>')
    .description('call a hook with a sample event; exit code 1 when it fails')
    .option('--event <event>', 'name of the event (default: the first event of the hook)')
    .option('--context <file>', 'file with the event context, a JSON object')
    .option(...json)
    .action(async (name: string, options: JsonOption & { readonly event?: string; readonly context?: string }) =>
      (await import('../hooks-test.ts')).hooksTest(context, name, options),
    )
  hooks
    .command('new <name>')
    .description('create a hook from a working template')
    .option('--python', 'use Python instead of TypeScript', false)
    .action(async (name: string, options: { readonly python: boolean }) =>
      (await import('../hooks-new.ts')).hooksNew(context, name, options),
    )
  hooks
    .command('accept <name>')
    .description('give consent to run a shell hook configured in config.yaml')
    .action(async (name: string) => (await import('../hooks-accept.ts')).hooksAccept(context, name))
  hooks
    .command('revoke <name>')
    .description('revoke consent for a shell hook configured in config.yaml')
    .action(async (name: string) => (await import('../hooks-accept.ts')).hooksRevoke(context, name))
  hooks
    .command('pause <name>')
    .description('stop delivering events to a hook until it is resumed')
    .action(async (name: string) => (await import('../hooks-pause.ts')).hooksPause(context, name))
  hooks
    .command('resume <name>')
    .description('resume a hook that was paused, or disabled after repeated failures')
    .action(async (name: string) => (await import('../hooks-pause.ts')).hooksResume(context, name))
}

export function addPluginCommands(root: Command, context: CliContext): void {
  const plugins = createGroup(root, 'plugins', 'your own code that changes the behaviour of the gateway')
  plugins
    .command('list')
    .description('list plugins and their state')
    .option(...json)
    .action(async (options: JsonOption) => (await import('../plugins-list.ts')).pluginsList(context, options))
  plugins
    .command('info <id>')
    .description('show all details of a plugin')
    .option(...json)
    .action(async (id: string, options: JsonOption) =>
      (await import('../plugins-list.ts')).pluginsInfo(context, id, options),
    )
  plugins
    .command('enable <id>')
    .summary('enable a plugin')
    .description('Adds a plugin to `plugins.enabled` of config.yaml. The plugin gets all permissions of the gateway.')
    .action(async (id: string) => (await import('../plugins-enable.ts')).pluginsEnable(context, id))
  plugins
    .command('disable <id>')
    .description('disable a plugin')
    .action(async (id: string) => (await import('../plugins-enable.ts')).pluginsDisable(context, id))
  plugins
    .command('new <name>')
    .description('create a plugin from a working template')
    .option('--python', 'use Python instead of TypeScript', false)
    .action(async (name: string, options: { readonly python: boolean }) =>
      (await import('../plugins-new.ts')).pluginsNew(context, name, options),
    )
  plugins
    .command('test <id>')
    .summary('test a plugin in an empty home')
    .description(
      'Loads a plugin in an empty home without a model, sends one message, and shows the calls of the plugin. Exit code 1 when it fails.',
    )
    .option('--message <text>', 'text of the message')
    .option(...json)
    .action(async (id: string, options: JsonOption & { readonly message?: string }) =>
      (await import('../plugins-test.ts')).pluginsTest(context, id, options),
    )
}

export function addPlatformCommand(root: Command, context: CliContext): void {
  createGroup(root, 'platforms', 'the platforms that people write from')
    .command('manifest <platform>')
    .summary('print the settings of an app for the pages of its platform')
    .description(
      'Prints the manifest of the app as JSON: its permissions, events and slash commands, to be pasted into the pages of the platform. With a running gateway it has the commands of plugins and skills, too.',
    )
    .option(...json)
    .action(async (platform: string, options: JsonOption) =>
      (await import('../platforms.ts')).platformsManifest(context, platform, options),
    )
}
