/**
 * For tests of hooks, plugins and platforms outside this repository: `node --import <this file> --test …` lets them
 * import `#sdk` and `#sdk/testing`, as the gateway itself does.
 */
import { registerHooks } from 'node:module'
import { bundledPackageUrls } from '../../src/packages/bundled-packages.mjs'
import { createResolver } from '../../src/packages/resolver.mjs'

registerHooks({ resolve: createResolver(bundledPackageUrls()) })
