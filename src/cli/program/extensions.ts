/**
 * Defines the commands for hooks, plugins and platforms.
 */
import type { Command } from 'commander'
import type { CliContext } from '../kit/context.ts'
import { createGroup } from '../kit/help.ts'
import { json, run } from './options.ts'

export function addHookCommands(root: Command, context: CliContext): void {
  root.commandsGroup('Extend:')
  const hooks = createGroup(root, 'hooks', 'your own code that observes events')
  hooks
    .command('list')
    .description('list hooks with their state and statistics')
    .option(...json)
    .action(run(context, async () => (await import('../hooks-list.ts')).hooksList))
  hooks
    .command('info <name>')
    .description('show all details of a hook')
    .option(...json)
    .action(run(context, async () => (await import('../hooks-list.ts')).hooksInfo))
  hooks
    .command('test <name>')
    .description('call a hook with a sample event; exit code 1 when it fails')
    .option('--event <event>', 'name of the event (default: the first event of the hook)')
    .option('--context <file>', 'file with the event context, a JSON object')
    .option(...json)
    .action(run(context, async () => (await import('../hooks-test.ts')).hooksTest))
  hooks
    .command('new <name>')
    .description('create a hook from a working template')
    .option('--python', 'use Python instead of TypeScript', false)
    .action(run(context, async () => (await import('../hooks-new.ts')).hooksNew))
  hooks
    .command('accept <name>')
    .description('give consent to run a shell hook configured in config.yaml')
    .action(run(context, async () => (await import('../hooks-accept.ts')).hooksAccept))
  hooks
    .command('revoke <name>')
    .description('revoke consent for a shell hook configured in config.yaml')
    .action(run(context, async () => (await import('../hooks-accept.ts')).hooksRevoke))
  hooks
    .command('pause <name>')
    .description('stop delivering events to a hook until it is resumed')
    .action(run(context, async () => (await import('../hooks-pause.ts')).hooksPause))
  hooks
    .command('resume <name>')
    .description('resume a hook that was paused, or disabled after repeated failures')
    .action(run(context, async () => (await import('../hooks-pause.ts')).hooksResume))
}

export function addPluginCommands(root: Command, context: CliContext): void {
  const plugins = createGroup(root, 'plugins', 'your own code that changes the behaviour of the gateway')
  plugins
    .command('list')
    .description('list plugins and their state')
    .option(...json)
    .action(run(context, async () => (await import('../plugins-list.ts')).pluginsList))
  plugins
    .command('info <id>')
    .description('show all details of a plugin')
    .option(...json)
    .action(run(context, async () => (await import('../plugins-list.ts')).pluginsInfo))
  plugins
    .command('enable <id>')
    .summary('enable a plugin')
    .description('Adds a plugin to `plugins.enabled` of config.yaml. The plugin gets all permissions of the gateway.')
    .action(run(context, async () => (await import('../plugins-enable.ts')).pluginsEnable))
  plugins
    .command('disable <id>')
    .description('disable a plugin')
    .action(run(context, async () => (await import('../plugins-enable.ts')).pluginsDisable))
  plugins
    .command('new <name>')
    .description('create a plugin from a working template')
    .option('--python', 'use Python instead of TypeScript', false)
    .action(run(context, async () => (await import('../plugins-new.ts')).pluginsNew))
  plugins
    .command('test <id>')
    .summary('test a plugin in an empty home')
    .description(
      'Loads a plugin in an empty home without a model, sends one message, and shows the calls of the plugin. Exit code 1 when it fails.',
    )
    .option('--message <text>', 'text of the message')
    .option(...json)
    .action(run(context, async () => (await import('../plugins-test.ts')).pluginsTest))
}

export function addPlatformCommand(root: Command, context: CliContext): void {
  createGroup(root, 'platforms', 'the platforms that people write from')
    .command('manifest <platform>')
    .summary('print the settings of an app for the pages of its platform')
    .description(
      'Prints the manifest of the app as JSON: its permissions, events and slash commands, to be pasted into the pages of the platform. With a running gateway it has the commands of plugins and skills, too.',
    )
    .option(...json)
    .action(run(context, async () => (await import('../platforms.ts')).platformsManifest))
}
