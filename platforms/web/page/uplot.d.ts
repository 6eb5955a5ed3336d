/**
 * The package uPlot, as the gateway serves it to the page.
 */
import type Plot from 'uplot'

declare const uPlot: typeof Plot
export default uPlot
