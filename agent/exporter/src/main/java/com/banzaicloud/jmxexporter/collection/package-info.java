/** What one collection has of its own: the names that are taken, and what is left out. */
package com.banzaicloud.jmxexporter.collection;
